import type { GeoRow } from '../api/functions'
import { Table } from './pieces'

type Position = [number, number]

/** positions are all positions of a geometry. */
function positions(coordinates: unknown): Position[] {
  if (!Array.isArray(coordinates)) return []
  if (typeof coordinates[0] === 'number') return [coordinates as unknown as Position]
  return coordinates.flatMap(positions)
}

const width = 640
const height = 400

/** Places draws geometries on a plain map: lines of longitude and latitude, no tiles of anybody. */
export function Places({ rows, link }: { rows: GeoRow[]; link: (id: string) => string }) {
  const all = rows.map((r) => ({ id: r.id, at: positions(r.geometry?.coordinates) })).filter((r) => r.at.length > 0)
  if (all.length === 0) return <p class="empty">Nothing lies there.</p>
  const every = all.flatMap((r) => r.at)
  const [west, east] = spread(every.map((p) => p[0]))
  const [south, north] = spread(every.map((p) => p[1]))
  const x = (lon: number) => ((lon - west) / (east - west)) * width
  const y = (lat: number) => height - ((lat - south) / (north - south)) * height
  return (
    <>
      <svg viewBox={`0 0 ${width} ${height}`} class="map" role="img" aria-label={`${all.length} places between ${west.toFixed(1)} and ${east.toFixed(1)} degrees east, ${south.toFixed(1)} and ${north.toFixed(1)} north`}>
        {steps(west, east).map((lon) => (
          <g key={'x' + lon}>
            <line x1={x(lon)} x2={x(lon)} y1={0} y2={height} />
            <text x={x(lon) + 3} y={height - 4}>{lon}°</text>
          </g>
        ))}
        {steps(south, north).map((lat) => (
          <g key={'y' + lat}>
            <line x1={0} x2={width} y1={y(lat)} y2={y(lat)} />
            <text x={3} y={y(lat) - 3}>{lat}°</text>
          </g>
        ))}
        {all.map((r) =>
          r.at.length === 1 ? (
            <circle key={r.id} cx={x(r.at[0]![0])} cy={y(r.at[0]![1])} r={4}>
              <title>{r.id}</title>
            </circle>
          ) : (
            <polyline key={r.id} points={r.at.map((p) => `${x(p[0])},${y(p[1])}`).join(' ')}>
              <title>{r.id}</title>
            </polyline>
          ),
        )}
      </svg>
      <Table caption="Places" columns={[{ name: 'Document' }, { name: 'Longitude', number: true }, { name: 'Latitude', number: true }]}>
        {all.map((r) => (
          <tr key={r.id}>
            <td class="id">
              <a href={link(r.id)}>{r.id}</a>
            </td>
            <td class="number">{r.at[0]![0].toFixed(3)}</td>
            <td class="number">{r.at[0]![1].toFixed(3)}</td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function spread(of: number[]): [number, number] {
  const low = of.reduce((a, b) => Math.min(a, b))
  const high = of.reduce((a, b) => Math.max(a, b))
  const margin = Math.max((high - low) * 0.08, 0.01)
  return [low - margin, high + margin]
}

/** steps are some round numbers between two. */
function steps(low: number, high: number): number[] {
  const wide = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30].find((s) => (high - low) / s <= 8) ?? 60
  const first = Math.ceil(low / wide)
  return Array.from({ length: Math.floor(high / wide) - first + 1 }, (_, i) => Number(((first + i) * wide).toFixed(2)))
}
