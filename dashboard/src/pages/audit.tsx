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
      <p class="dim">What changes databases, settings, rights and users, attempts that were refused among it. Each server has the acts that it answered.</p>
      {(servers.value?.length ?? 0) > 1 && (
        <Choice label="Server" value={node} onChange={(name) => (setBefore(''), setNode(name))} options={[['_local', 'the one that answers'], ...servers.value!.map((name): [string, string] => [name, name])]} />
      )}
      <Show of={loaded}>
        {(page) => (
          <>
            {page.acts.length === 0 ? (
              <p class="empty">{page.bookmark ? 'There is no act in this part of the log.' : 'No acts are known.'}</p>
            ) : (
              <Table caption="Acts" columns={[{ name: 'When' }, { name: 'Who' }, { name: 'From' }, { name: 'What' }, { name: 'Of' }, { name: 'Status', number: true }]}>
                {page.acts.map((a, i) => (
                  <One key={i} act={a} />
                ))}
              </Table>
            )}
            <div class="actions">
              {before && <button onClick={() => setBefore('')}>Newest</button>}
              {page.bookmark && <button onClick={() => setBefore(page.bookmark!)}>Older</button>}
              <button onClick={loaded.again}>Read again</button>
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
