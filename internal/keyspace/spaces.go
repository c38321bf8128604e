package keyspace

// Rows inside the range of one document: the head first, so that a scan meets
// it before the bodies.
const (
	SubHead  = 1 // the document head
	SubChunk = 2 // a chunk of old trunk revisions; tail: first generation, 4 bytes
	SubBody  = 3 // the body of a revision; tail: generation, 4 bytes, and hash
	SubTree  = 4 // a piece of a tree that is too large for the head; tail: its number, 4 bytes
)

// The kinds of row outside databases.
var (
	Meta = Space{Name: "meta", Code: 'a', System: true, Version: 1,
		Columns: []Column{{"name", Text}},
		Doc:     "one value of the whole store: its format, its UUID, its secret, the last database number, the configuration of its servers"}
	Catalogue = Space{Name: "catalogue", Code: 'b', System: true, Version: 1,
		Columns: []Column{{"database", Text}},
		Doc:     "a database by name: its number, its kind, when it was made"}
	Job = Space{Name: "job", Code: 'c', System: true, Version: 1,
		Columns: []Column{{"kind", Text}, {"number", Uint}, {"subject", Text}},
		Doc:     "work to be done in the background: when, by whom, what is left of it"}
	UpdateFeed = Space{Name: "updates", Code: 'e', System: true, Version: 1,
		Columns: []Column{{"sequence", Uint}},
		Doc:     "a database was created, updated or deleted; one entry each, moved at every event"}
	UpdateHead = Space{Name: "updates-head", Code: 'f', System: true, Version: 1,
		Columns: []Column{{"database", Text}},
		Doc:     "where a database's entry in the updates feed stands"}
	JobDue = Space{Name: "job-due", Code: 'h', System: true, Version: 1,
		Columns: []Column{{"pool", Text}, {"time", Uint}, {"kind", Text}, {"number", Uint}, {"subject", Text}},
		Doc:     "a job by the time when it is due, among those of its pool (time: Unix milliseconds)"}
	Request = Space{Name: "request", Code: 'i', System: true, Version: 1,
		Columns: []Column{{"period", Uint}, {"request", Tail}},
		Doc:     "a transaction that has a name was carried out: when, and what it asked for; period: of ten minutes, request: a digest of who asked and the name"}
	Server = Space{Name: "server", Code: 'j', System: true, Version: 1,
		Columns: []Column{{"name", Text}},
		Doc:     "a server of the store, where several have one: until when it lives without a further sign, which format it reads"}
	CommitToken = Space{Name: "commit-token", Code: 'k', System: true, Version: 1,
		Columns: []Column{{"bucket", Uint}, {"time", Uint}, {"token", Tail}},
		Doc:     "a commit happened, or was made void and never will: settles unknown outcomes; kept an hour (bucket: one of 16, at random; time: Unix seconds)"}
	Attempts = Space{Name: "attempts", Code: 'l', System: true, Version: 1,
		Columns: []Column{{"set", Uint}},
		Doc:     "wrong passwords that the servers of a store have counted together: a set of counts, found by a keyed hash of network and name"}
	ACME = Space{Name: "acme", Code: 'm', System: true, Version: 1,
		Columns: []Column{{"kind", Text}, {"name", Text}},
		Doc:     "what servers get certificates by: account, by the URL of an ACME server; certificate and challenge, by name of a host. With private keys"}
)

// The kinds of row in a database; those of indexes, from code 0x80 up, below.
var (
	LaneHead = Space{Name: "lane", Code: 0x01, Version: 1,
		Columns: []Column{{"lane", Uint}},
		Doc:     "next sequence, incarnation, version of definitions and security, counts and sizes"}
	Setting = Space{Name: "setting", Code: 0x02, Version: 1,
		Columns: []Column{{"name", Text}},
		Doc:     "a setting of the database: security, revs_limit, purged_infos_limit, expiry, deleted_document_ttl, change_log; graves: how far old tombstones were dropped; change_log_floor: how far the change log was trimmed"}
	Doc = Space{Name: "doc", Code: 0x10, Version: 3,
		Columns: []Column{{"id", Text}, {"sub", Uint}, {"tail", Tail}},
		Doc:     "a document: its head (tree, feed sequence), trunk chunks, bodies by revision, pieces of a large tree"}
	BodyChunk = Space{Name: "body-chunk", Code: 0x11, Version: 1,
		Columns: []Column{{"id", Text}, {"generation", Uint}, {"hash", Text}, {"chunk", Uint}},
		Doc:     "64 KB of a large body, out of the way of scans"}
	RowCut = Space{Name: "row-cut", Code: 0x12, Version: 1,
		Columns: []Column{{"row", Tail}},
		Doc:     "how many pieces a value has that is too long for one row; row: the key of the row after the database's number, and a stamp of 16 bytes"}
	RowPiece = Space{Name: "row-piece", Code: 0x13, Version: 1,
		Columns: []Column{{"row", Tail}},
		Doc:     "a piece of such a value; row: as in row-cut, and the piece's number in four bytes"}
	Feed = Space{Name: "feed", Code: 0x20, Version: 2,
		Columns: []Column{{"lane", Uint}, {"sequence", Uint}},
		Doc:     "the document that got the sequence last, its leaves; or that something is gone"}
	PartitionFeed = Space{Name: "partition-feed", Code: 0x21, Version: 2,
		Columns: []Column{{"partition", Text}, {"sequence", Uint}},
		Doc:     "the same for one partition"}
	Partition = Space{Name: "partition", Code: 0x22, Version: 2,
		Columns: []Column{{"partition", Text}},
		Doc:     "a partition's counters, its last sequence, whether it is being dropped, how its documents expire"}
	Rank = Space{Name: "rank", Code: 0x23, Version: 1,
		Columns: []Column{{"ranking", Text}, {"value", Uint}, {"partition", Text}},
		Doc:     "a partition's place in a ranking (empty value)"}
	Ranked = Space{Name: "ranked", Code: 0x24, Version: 1,
		Columns: []Column{{"partition", Text}},
		Doc:     "the values under which a partition stands in the rankings"}
	RankCheckpoint = Space{Name: "rank-checkpoint", Code: 0x25, Version: 1,
		Columns: []Column{{"lane", Uint}},
		Doc:     "the sequence up to which the rankings are made; none where nobody asked for one"}
	PartitionDrop = Space{Name: "partition-drop", Code: 0x26, Version: 1,
		Columns: []Column{{"partition", Text}},
		Doc:     "when a partition was dropped last (Unix milliseconds); stays when the partition is gone"}
	Local = Space{Name: "local", Code: 0x30, Version: 1,
		Columns: []Column{{"scope", Text}, {"id", Text}},
		Doc:     "a local document; scope: the endpoint it belongs to, empty for the database, with a colon for a tenant; and :reader:NAME behind that for a reader's own"}
	Blob = Space{Name: "blob", Code: 0x40, Version: 1,
		Columns: []Column{{"blob", Uint}},
		Doc:     "an attachment's bytes: references, sizes, digests, partition"}
	BlobChunk = Space{Name: "blob-chunk", Code: 0x41, Version: 1,
		Columns: []Column{{"blob", Uint}, {"chunk", Uint}},
		Doc:     "a piece of a blob"}
	BlobDigest = Space{Name: "blob-digest", Code: 0x42, Version: 1,
		Columns: []Column{{"partition", Text}, {"sha256", Text}},
		Doc:     "the blob that holds these bytes for the partition"}
	BlobPending = Space{Name: "blob-pending", Code: 0x43, Version: 1,
		Columns: []Column{{"deadline", Uint}, {"blob", Uint}},
		Doc:     "a blob that no document names yet and that goes after the deadline (Unix seconds)"}
	Superseded = Space{Name: "superseded", Code: 0x50, Version: 1,
		Columns: []Column{{"time", Uint}, {"commit", Uint}},
		Doc:     "revisions superseded at a time (Unix milliseconds) whose bodies are still stored"}
	Purge = Space{Name: "purge", Code: 0x51, Version: 1,
		Columns: []Column{{"purge sequence", Uint}},
		Doc:     "a purge of one document: its revisions"}
	Marker = Space{Name: "deletion-marker", Code: 0x53, Version: 1,
		Columns: []Column{{"id", Text}},
		Doc:     "the revisions of tombstones that were dropped by age, so that old replicas do not bring the document back"}
	Due = Space{Name: "due", Code: 0x54, Version: 2,
		Columns: []Column{{"time", Uint}, {"id", Text}},
		Doc:     "a document that expires at a time (Unix seconds, 2^53+1 where nobody can read it), and when it was last written, if it counts from there"}
	Subscription = Space{Name: "subscription", Code: 0x56, Version: 1, Follower: true,
		Columns: []Column{{"partition", Text}, {"id", Text}, {"sub", Uint}},
		Doc:     "who follows a feed from outside: the definition (sub 1), how far it has come (2); partition: empty for the database"}
	ChangeLog = Space{Name: "change-log", Code: 0x58, Version: 1,
		Columns: []Column{{"sequence", Uint}, {"number", Uint}},
		Doc:     "a change of a document: its winner before and after; number: 0, or the commit of what has no sequence of its own"}
	DeadLetter = Space{Name: "dead-letter", Code: 0x57, Version: 1, Follower: true,
		Columns: []Column{{"partition", Text}, {"subscription", Text}, {"number", Uint}},
		Doc:     "changes that could not be delivered to a subscription"}
)

// The rows of indexes. How a row's key is made from a document's values is the
// business of the index kinds.
var (
	IndexProgress = Space{Name: "index-progress", Code: 0x83, Version: 1,
		Columns: []Column{{"index", Uint}},
		Doc:     "how far the build of an index or an index that follows the feed has come"}
	FieldRow = Space{Name: "field-row", Code: 0x84, Version: 2,
		Columns: []Column{{"index", Uint}, {"partition", Text}, {"values", Text}, {"id", Text}},
		Doc:     "a document in a field index; partition: empty in a global one, values: collated"}
	TextManifest = Space{Name: "text-manifest", Code: 0x85, Version: 1,
		Columns: []Column{{"index", Uint}},
		Doc:     "the segments of a text index"}
	TextDeleted = Space{Name: "text-deleted", Code: 0x86, Version: 1,
		Columns: []Column{{"index", Uint}, {"segment", Uint}},
		Doc:     "which documents of a segment are replaced or gone"}
	TextChunk = Space{Name: "text-chunk", Code: 0x87, Version: 2,
		Columns: []Column{{"index", Uint}, {"segment", Uint}, {"chunk", Uint}},
		Doc:     "64 KB of a segment"}
	ViewRow = Space{Name: "view-row", Code: 0x88, Version: 1,
		Columns: []Column{{"index", Uint}, {"partition", Text}, {"key", Text}, {"id", Text}, {"number", Uint}},
		Doc:     "an emitted row of a view; partition: empty in a global one, key: collated"}
	ViewBack = Space{Name: "view-back", Code: 0x89, Version: 1,
		Columns: []Column{{"index", Uint}, {"id", Text}},
		Doc:     "the keys that a document emitted into a view"}
	ViewNode = Space{Name: "view-node", Code: 0x8a, Version: 2,
		Columns: []Column{{"index", Uint}, {"reduce", Uint}, {"level", Uint}, {"partition", Text}, {"from", Tail}},
		Doc:     "the count and the reduction of a span of a view's rows, and of the runs of equal keys in it"}
	TextPending = Space{Name: "text-pending", Code: 0x8b, Version: 1,
		Columns: []Column{{"index", Uint}, {"segment", Uint}},
		Doc:     "a segment that is being written and that goes after a deadline (Unix seconds)"}
	GeoRow = Space{Name: "geo-row", Code: 0x8c, Version: 1,
		Columns: []Column{{"index", Uint}, {"partition", Text}, {"class", Uint}, {"cell", Uint}, {"id", Text}, {"number", Uint}},
		Doc:     "a geometry of a document in a geo index; partition: empty in a global one, class: 0 for a point, 1 for others, cell: the S2 cell that it or a part of it lies in"}
	GeoBack = Space{Name: "geo-back", Code: 0x8d, Version: 1,
		Columns: []Column{{"index", Uint}, {"id", Text}},
		Doc:     "the geometries of a document in a geo index, with their cells"}
	SecondaryRow = Space{Name: "secondary-row", Code: 0x8e, Version: 1,
		Columns: []Column{{"index", Uint}, {"partition", Text}, {"values", Text}, {"id", Text}},
		Doc:     "an item in a secondary index of a table; partition: empty in a global one, values: as in composite ids"}
)

// The definitions of indexes, and what they are told, by namespace: the partition of a
// tenant, or none for the database's own.
var (
	Index = Space{Name: "index", Code: 0x90, Version: 1,
		Columns: []Column{{"partition", Text}, {"index", Uint}},
		Doc:     "an index: its kind, signature and definition, its state, how many design documents use it; partition: that of the tenant who defined it, empty for the database"}
	IndexSignature = Space{Name: "index-signature", Code: 0x91, Version: 1,
		Columns: []Column{{"partition", Text}, {"signature", Text}},
		Doc:     "the number of the index with this definition"}
	IndexUse = Space{Name: "index-use", Code: 0x92, Version: 1,
		Columns: []Column{{"partition", Text}, {"design document", Text}},
		Doc:     "the indexes that a design document defines, by name"}
	Removal = Space{Name: "removal", Code: 0x93, Version: 1,
		Columns: []Column{{"partition", Text}, {"serial", Uint}},
		Doc:     "a document that went without a trace in the feed, for the indexes that follow it; with no id: so many of a tenant's went that they began anew"}
)

// Spaces is the table of all kinds of row, in key order.
var Spaces = []*Space{
	&Meta, &Catalogue, &Job, &UpdateFeed, &UpdateHead, &JobDue, &Request, &Server, &CommitToken, &Attempts, &ACME,
	&LaneHead, &Setting, &Doc, &BodyChunk, &RowCut, &RowPiece, &Feed, &PartitionFeed, &Partition, &Rank, &Ranked, &RankCheckpoint, &PartitionDrop,
	&Local, &Blob, &BlobChunk, &BlobDigest, &BlobPending, &Superseded, &Purge, &Marker, &Due,
	&Subscription, &DeadLetter, &ChangeLog,
	&IndexProgress, &FieldRow, &TextManifest, &TextDeleted, &TextChunk, &ViewRow, &ViewBack, &ViewNode, &TextPending, &GeoRow, &GeoBack, &SecondaryRow,
	&Index, &IndexSignature, &IndexUse, &Removal,
}

// BodyTail is the tail of a body row: the generation in four bytes, so that
// bodies lie oldest first, and the hash.
func BodyTail(gen uint32, hash string) string {
	b := make([]byte, 4, 4+len(hash))
	b[0], b[1], b[2], b[3] = byte(gen>>24), byte(gen>>16), byte(gen>>8), byte(gen)
	return string(append(b, hash...))
}

// ChunkTail is the tail of a trunk chunk row.
func ChunkTail(gen uint32) string { return BodyTail(gen, "") }
