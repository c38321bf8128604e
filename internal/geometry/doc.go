// Package geometry owns geometries on the earth: reading them from GeoJSON and WKT,
// boxes and circles, how two of them relate (DE-9IM), how far one is from a point, and
// which cells cover one. It is pure.
//
// Positions are longitudes and latitudes in degrees (WGS 84). An edge is the straight
// line between its ends in these, as GeoJSON says, except that one that spans more than
// 180 degrees of longitude goes the other way round, over the antimeridian (one of
// exactly 360 goes all the way round). A ring that goes round a pole is closed over
// it, over the pole that is nearer on the whole. The relations are worked out in the
// plane, so a Shape is cut at ±180 degrees first (flat.go); what a relation calls
// boundary includes that cut.
//
// Distances are those on a sphere with the mean radius of the earth, EarthRadius, in
// metres: at most 0.6 percent from the ellipsoid.
//
// What is read is bounded (Limits), since validating, covering and relating take time
// and memory by the number of positions and can't be interrupted.
//
// Begin reading at Shape; ParseGeoJSON and ParseWKT make them.
package geometry
