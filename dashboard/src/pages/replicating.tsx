import { useState } from 'preact/hooks'
import { ask } from '../api/http'
import { go } from '../route'
import { useAction } from '../ui/load'
import { Ask, Check, Choice, Text } from '../ui/pieces'

/** Replicating asks for a replication of a database, which a document of _replicator keeps. */
export function Replicating({ db, onClose }: { db: string; onClose: () => void }) {
  const [way, setWay] = useState('to')
  const [other, setOther] = useState('')
  const [continuous, setContinuous] = useState(false)
  const [create, setCreate] = useState(true)
  const action = useAction()
  const begin = () =>
    ask('POST', '_replicator', { source: way === 'to' ? db : other, target: way === 'to' ? other : db, continuous, create_target: way === 'to' && create })
  return (
    <Ask
      title={`Replicate ${db}`}
      yes="Replicate"
      busy={action.busy}
      error={action.error}
      onClose={onClose}
      onYes={async () => {
        if (await action.run(begin)) go(['live', 'replications'])
      }}
    >
      <Choice label="Which way" value={way} onChange={setWay} options={[['to', 'to another database'], ['from', 'from another database']]} />
      <Text label="The other: a name here, or https://name:password@host/database" value={other} onChange={setOther} required autofocus />
      <Check label="Go on with each change" value={continuous} onChange={setContinuous} />
      {way === 'to' && <Check label="Make the other if it is not there" value={create} onChange={setCreate} />}
    </Ask>
  )
}
