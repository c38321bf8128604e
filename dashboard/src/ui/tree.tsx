import type { Leaf } from '../api/database'
import { shortRev } from './format'

const step = 78
const line = 34
const most = 12

interface Node {
  rev: string
  x: number
  y: number
  parent?: Node
  leaf?: Leaf
}

/** nodesOf lays a document's revisions out: a generation is a column, a leaf a line. What is older than the columns that
 * are shown is left out. */
function nodesOf(leaves: Leaf[]): Node[] {
  const generation = (rev: string) => parseInt(rev, 10)
  const last = Math.max(...leaves.map((l) => generation(l.rev)))
  const first = Math.max(1, last - most + 1)
  const nodes = new Map<string, Node>()
  leaves.forEach((leaf, y) => {
    let parent: Node | undefined
    for (const rev of leaf.path.toReversed()) {
      if (generation(rev) < first) continue
      const node: Node = nodes.get(rev) ?? { rev, x: generation(rev) - first, y, parent }
      if (rev === leaf.rev) node.leaf = leaf
      nodes.set(rev, node)
      parent = node
    }
  })
  return [...nodes.values()]
}

/** Tree draws how a document's revisions came from each other: the winner's on the first line. */
export function Tree({ leaves }: { leaves: Leaf[] }) {
  const nodes = nodesOf(leaves)
  const x = (n: Node) => 12 + n.x * step
  const y = (n: Node) => 12 + n.y * line
  const width = Math.max(...nodes.map(x)) + step
  const label = leaves.map((l, i) => `${shortRev(l.rev)}${i === 0 ? ', the winner' : ''}${l.deleted ? ', deleted' : ''}: from ${l.path.slice(1).map(shortRev).join(', ') || 'nothing'}`).join('; ')
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Revision tree">
      <svg class="tree" width={width} height={24 + leaves.length * line} role="img" aria-label={label}>
        {nodes.map((n) => n.parent && <path key={n.rev} d={`M${x(n.parent)},${y(n.parent)} C${x(n.parent) + step / 2},${y(n.parent)} ${x(n) - step / 2},${y(n)} ${x(n)},${y(n)}`} />)}
        {nodes.map((n) => (
          <g key={n.rev}>
            <circle cx={x(n)} cy={y(n)} r={n.leaf ? 6 : 4} class={n.leaf ? (n.leaf.deleted ? 'gone' : 'leaf') : ''} />
            <text x={x(n) - 6} y={y(n) + 18}>
              {n.rev.replace(/^(\d+-.{5}).*$/, '$1')}
            </text>
          </g>
        ))}
      </svg>
    </div>
  )
}
