import { useState } from 'preact/hooks'
import { logIn, server } from '../api/session'
import { href } from '../route'
import { useAction } from '../ui/load'
import { Failure, Text } from '../ui/pieces'

/** Login asks who is there. */
export function Login() {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const action = useAction()
  return (
    <main class="login">
      <p class="brand">
        <img src="./icon.svg" alt="" /> Sectional
      </p>
      <form
        class="card"
        onSubmit={(e) => {
          e.preventDefault()
          void action.run(() => logIn(name, password))
        }}
      >
        <h1 class="hidden">Log in</h1>
        <Text label="Name" value={name} onChange={setName} autocomplete="username" required autofocus />
        <Text label="Password" type="password" value={password} onChange={setPassword} autocomplete="current-password" required />
        <Failure error={action.error} />
        <button class="first" disabled={action.busy}>
          Log in
        </button>
      </form>
      <p class="dim">
        The first start of a server printed a name and a password, in the terminal or the log where it runs. <a href={href(['help'])}>Help</a> is here without them. {server.value && `Version ${server.value.vendor.version ?? server.value.version}.`}
      </p>
    </main>
  )
}
