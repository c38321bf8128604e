import { useState } from 'preact/hooks'
import { acts, nodes, type Act } from '../api/activity'
import { useLoad } from '../ui/load'
import { Choice, Show, Table } from '../ui/pieces'

/** Audit is what administrators have done at a server, the newest first. */
export function Audit() {
  const servers = useLoad(nodes, [])
  const [node, setNode] = useState('_local')
  const [before, setBefore] = useState('')
  const loaded = useLoad((signal) => acts(node, before, signal), [node, before])
  return (
    <section class="card">
      <p class="dim">Changes of databases, settings, permissions and users by administrators, and refused attempts. Each server has those that it answered.</p>
      {(servers.value?.length ?? 0) > 1 && (
        <Choice label="Server" value={node} onChange={(name) => (setBefore(''), setNode(name))} options={[['_local', 'this one'], ...servers.value!.map((name): [string, string] => [name, name])]} />
      )}
      <Show of={loaded}>
        {(page) => (
          <>
            {page.acts.length === 0 ? (
              <p class="empty">{page.bookmark ? 'No entries in this part of the log.' : 'No entries yet.'}</p>
            ) : (
              <Table caption="Audit log" columns={[{ name: 'When' }, { name: 'Who' }, { name: 'From' }, { name: 'Request' }, { name: 'Object' }, { name: 'Status', number: true }]}>
                {page.acts.map((a, i) => (
                  <One key={i} act={a} />
                ))}
              </Table>
            )}
            <div class="actions">
              {before && <button onClick={() => setBefore('')}>Newest</button>}
              {page.bookmark && <button onClick={() => setBefore(page.bookmark!)}>Older</button>}
              <button onClick={loaded.again}>Refresh</button>
            </div>
          </>
        )}
      </Show>
    </section>
  )
}

function One({ act }: { act: Act }) {
  return (
    <tr>
      <td>
        <time dateTime={act.time}>{new Date(act.time).toLocaleString()}</time>
      </td>
      <td class="id">{act.user}</td>
      <td class="mono">{act.peer}</td>
      <td class="mono">
        {act.method} {act.route}
      </td>
      <td class="id">{[act.database, act.object].filter(Boolean).join(' ')}</td>
      <td class="number">
        <span class={act.status < 400 ? 'badge good' : 'badge bad'}>{act.status}</span>
      </td>
    </tr>
  )
}
