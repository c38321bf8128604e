import { useCallback, useEffect, useState } from 'preact/hooks'
import { failures, replications, tasks, type Replication, type Task } from '../api/activity'
import { Metrics, metrics, quantile, rate } from '../api/metrics'
import { href, route } from '../route'
import { ago, bytes, count, rate as rateText, share } from '../ui/format'
import { useEvery, useLoad } from '../ui/load'
import { Failure, Head, Show, Table, Tabs } from '../ui/pieces'
import { Plot } from '../ui/plot'
import { Audit } from './audit'

const pages = [
  { path: '', name: 'Tasks', page: Tasks },
  { path: 'replications', name: 'Replications', page: Replications },
  { path: 'metrics', name: 'Metrics', page: Charts },
  { path: 'audit', name: 'Audit', page: Audit },
]

/** Live is what the server does now, and what administrators have done. */
export function Live() {
  const shown = pages.find((p) => p.path === (route.value.parts[1] ?? '')) ?? pages[0]!
  return (
    <>
      <Head title="Live" />
      <Tabs label="Of what happens" tabs={pages.map((p) => ({ name: p.name, href: href(['live', p.path].filter(Boolean)), current: p === shown }))} />
      <shown.page />
    </>
  )
}

function Tasks() {
  const loaded = useLoad(tasks, [])
  useEvery(2000, loaded.again)
  return (
    <section class="card">
      <Show of={loaded}>
        {(all) =>
          all.length === 0 ? (
            <p class="empty">No background tasks are running.</p>
          ) : (
            <Table caption="Running tasks" columns={[{ name: 'Task' }, { name: 'Object' }, { name: 'Progress' }, { name: 'Since' }, { name: 'Server' }]}>
              {all.map((t) => (
                <tr key={t.node + t.pid + t.type}>
                  <td>{t.type.replaceAll('_', ' ')}</td>
                  <td class="id">{[t.database, t.design_document, t.source && `${t.source} → ${t.target}`].filter(Boolean).join(' ')}</td>
                  <td>
                    <Progress task={t} />
                  </td>
                  <td>{ago(t.started_on * 1000)}</td>
                  <td class="id">{t.node}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Show>
    </section>
  )
}

function Progress({ task }: { task: Task }) {
  if (task.progress !== undefined) {
    return (
      <>
        <progress max={100} value={task.progress} aria-label="Progress" /> {task.progress} %
      </>
    )
  }
  const done = task.documents_done ?? task.changes_done ?? task.docs_written
  return <>{typeof done === 'number' ? `${count(done)} done` : ''}</>
}

const states: Record<string, string> = { running: 'good', completed: 'good', crashing: 'bad', failed: 'bad', error: 'bad', pending: 'warn' }

function Replications() {
  const loaded = useLoad(replications, [])
  const [shown, setShown] = useState<Replication>()
  useEvery(3000, loaded.again)
  return (
    <section class="card">
      <Show of={loaded}>
        {(all) =>
          all.length === 0 ? (
            <p class="empty">No replications. A document in _replicator starts one, or the button Replicate of a database.</p>
          ) : (
            <Table caption="Replications" columns={[{ name: 'Document' }, { name: 'From' }, { name: 'To' }, { name: 'State' }, { name: 'Written', number: true }, { name: 'Refused', number: true }]}>
              {all.map((r) => (
                <tr key={`${r.database}/${r.doc_id}`}>
                  <td class="id">
                    <a href={href(['db', r.database, 'doc', r.doc_id])}>{r.doc_id}</a>
                  </td>
                  <td class="id">{r.source}</td>
                  <td class="id">{r.target}</td>
                  <td>
                    <span class={`badge ${states[r.state] ?? ''}`}>{r.state}</span> {r.info?.error}
                  </td>
                  <td class="number">{count(r.info?.docs_written)}</td>
                  <td class="number">
                    {r.info?.doc_write_failures ? (
                      <button class="quiet" onClick={() => setShown(r)}>
                        {count(r.info.doc_write_failures)}
                      </button>
                    ) : (
                      '0'
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Show>
      {shown && <Refused of={shown} />}
    </section>
  )
}

function Refused({ of }: { of: Replication }) {
  const loaded = useLoad((signal) => failures(of, signal), [of.doc_id])
  return (
    <>
      <h2>What {of.doc_id} could not replicate</h2>
      <Show of={loaded}>
        {(all) => (
          <Table caption="Refused revisions" columns={[{ name: 'Document' }, { name: 'Revision' }, { name: 'Why' }, { name: 'When' }]}>
            {all.map((f) => (
              <tr key={f.id + f.rev}>
                <td class="id">{f.id}</td>
                <td class="mono">{f.rev}</td>
                <td>
                  {f.status} {f.error}: {f.reason}
                </td>
                <td>{ago(f.time)}</td>
              </tr>
            ))}
          </Table>
        )}
      </Show>
    </>
  )
}

const kept = 150
const requests = 'sectional_http_request_seconds'

/** Charts plots the server's metrics from the moment on when the page was opened. */
function Charts() {
  const [all, setAll] = useState<Metrics[]>([])
  const [error, setError] = useState<Error>()
  const ask = useCallback(() => {
    metrics().then(
      (m) => (setError(undefined), setAll((a) => [...a, m].slice(-kept))),
      (e: Error) => setError(e),
    )
  }, [])
  useEffect(ask, [])
  useEvery(2000, ask)
  const last = all.at(-1)
  if (!last) return error ? <Failure error={error} /> : <p class="dim" role="status">Loading …</p>
  const pairs = all.slice(1).map((b, i): [Metrics, Metrics] => [all[i]!, b])
  const times = pairs.map(([, b]) => b.at)
  const over = (value: (a: Metrics, b: Metrics) => number) => pairs.map(([a, b]) => {
    const v = value(a, b)
    return Number.isFinite(v) ? v : null
  })
  const classes = last.labels(requests + '_count', 'class')
  return (
    <>
      <Failure error={error} />
      {pairs.length === 0 && <p class="dim">Waiting for the second measurement …</p>}
      <div class="grid">
        <Plot title="Requests a second" times={times} text={rateText} series={classes.map((c) => ({ name: c, values: over((a, b) => rate(a, b, requests + '_count', { class: c })) }))} />
        <Plot title="Time of requests" times={times} text={seconds} series={[0.5, 0.95, 0.99, 0.999].map((p) => ({ name: `p${p * 100}`, values: over((a, b) => quantile(p, a, b, requests)) }))} />
        <Plot title="Commits a second" times={times} text={rateText} series={[{ name: 'commits', values: over((a, b) => rate(a, b, 'sectional_storage_commits_total')) }]} />
        <Plot title="Written a second" times={times} text={bytes} series={[{ name: 'log', values: over((a, b) => rate(a, b, 'sectional_storage_log_written_bytes_total')) }, { name: 'compaction', values: over((a, b) => rate(a, b, 'sectional_storage_compaction_written_bytes_total')) }]} />
        <Plot title="Memory" times={times} text={bytes} series={[{ name: 'resident', values: over((_, b) => b.sum('process_resident_memory_bytes')) }, { name: 'heap', values: over((_, b) => b.sum('go_memstats_heap_inuse_bytes')) }]} />
        <Plot title="Processors" times={times} text={share} series={[{ name: 'used', values: over((a, b) => rate(a, b, 'process_cpu_seconds_total')) }]} />
      </div>
    </>
  )
}

const seconds = (s: number) => (s < 1 ? `${rateText(s * 1000)} ms` : `${rateText(s)} s`)
