import { useState } from 'preact/hooks'
import { forget, logIn, server, user } from '../api/session'
import { href } from '../route'
import { useAction } from '../ui/load'
import { Dialog, Failure, Text } from '../ui/pieces'

/** Login asks who is there. */
export function Login() {
  return (
    <main class="login">
      <p class="brand">
        <img src="./icon.svg" alt="" /> Sectional
      </p>
      <div class="card">
        <h1 class="hidden">Log in</h1>
        <Form name="" />
      </div>
      <p class="dim">
        The first start of a server printed a name and a password, in the terminal or the log where it runs. <a href={href(['help'])}>Help</a> is here without them. {server.value && `Version ${server.value.vendor.version ?? server.value.version}.`}
      </p>
    </main>
  )
}

/** Again asks for the password once more, over a page that holds unsaved text. */
export function Again() {
  return (
    <Dialog title="Your session has ended" onClose={() => {}}>
      <p>What you have typed is still there. Log in to go on.</p>
      <Form name={user.value?.name ?? ''}>
        <button type="button" onClick={forget}>
          Leave without saving
        </button>
      </Form>
    </Dialog>
  )
}

function Form({ name: first, children }: { name: string; children?: preact.ComponentChildren }) {
  const [name, setName] = useState(first)
  const [password, setPassword] = useState('')
  const action = useAction()
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault()
        void action.run(() => logIn(name, password))
      }}
    >
      <Text label="Name" value={name} onChange={setName} autocomplete="username" required autofocus={first === ''} />
      <Text label="Password" type="password" value={password} onChange={setPassword} autocomplete="current-password" required autofocus={first !== ''} />
      <Failure error={action.error} />
      <div class="actions">
        <button class="first" disabled={action.busy}>
          Log in
        </button>
        {children}
      </div>
    </form>
  )
}
