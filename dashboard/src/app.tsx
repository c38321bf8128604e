import { useEffect, useState } from 'preact/hooks'
import { ended, isAdmin, learn, learnServer, logOut, seeAs, seenAs, server, user } from './api/session'
import { Database } from './pages/database'
import { Databases } from './pages/databases'
import { Live } from './pages/live'
import { Again, Login } from './pages/login'
import { Tables } from './pages/tables'
import { Users } from './pages/users'
import { go, href, leave, leaving, route } from './route'
import { Confirm, Failure, Head } from './ui/pieces'
import { useLoad } from './ui/load'
import { theme, type Theme } from './ui/theme'

/** Section is an entry of the navigation: the first part of its pages' addresses. */
interface Section {
  path: string
  name: string
  admin?: boolean
  /** all is whether it is also for who is not logged in. */
  all?: boolean
}

const sections: Section[] = [
  { path: 'db', name: 'Databases' },
  { path: 'tables', name: 'Tables' },
  { path: 'live', name: 'Live', admin: true },
  { path: 'users', name: 'Users', admin: true },
  { path: 'help', name: 'Help', all: true },
]

const nobody = () => user.value?.name === null && !isAdmin()

/** App is the dashboard: the login, or the frame with a page in it. */
export function App() {
  const start = useLoad(() => Promise.all([learn(), learnServer()]), [])
  const page = route.value.parts.join('/')
  useEffect(() => {
    document.title = ['Sectional', ...route.value.parts.slice(1, 2)].reverse().join(' · ')
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
  }, [page])
  if (start.error) return <main class="login"><Failure error={start.error} again={start.again} /></main>
  if (user.value === undefined) return null
  if (nobody() && route.value.parts[0] !== 'help') return <Login />
  return (
    <div class="frame">
      <Side />
      <main id="page">
        {seenAs.value !== undefined && (
          <p class="notice warn actions" role="note">
            <span>You see what {seenAs.value} sees, and can change nothing.</span>
            <button onClick={() => void seeAs(undefined).then(() => go(['users']))}>See as yourself</button>
          </p>
        )}
        <Page key={`${seenAs.value} ${user.value.name}`} />
      </main>
      {ended.value && <Again />}
      {leaving.value && <Leave then={leaving.value} />}
    </div>
  )
}

/** Leave asks whether a page is left on which something was typed that is not saved. */
function Leave({ then }: { then: () => void }) {
  const close = () => (leaving.value = undefined)
  return (
    <Confirm title="Leave this page?" yes="Leave without saving" busy={false} onClose={close} onYes={() => (close(), then())}>
      <p>What you have changed is not saved.</p>
    </Confirm>
  )
}

function Side() {
  const current = route.value.parts[0] ?? 'db'
  return (
    <header class="side">
      <button class="skip" onClick={() => document.querySelector<HTMLElement>('main h1')?.focus()}>
        Skip to the page
      </button>
      <a class="brand" href={href(['db'])}>
        <img src="./icon.svg" alt="" /> Sectional
      </a>
      <nav aria-label="Sections">
        {sections
          .filter((s) => (!s.admin || isAdmin()) && (s.all || !nobody()))
          .map((s) => (
            <a key={s.path} href={href([s.path])} aria-current={current === s.path ? 'true' : undefined}>
              {s.name}
            </a>
          ))}
      </nav>
      <div class="foot">
        <label>
          <span class="hidden">Colours</span>
          <select value={theme.value} onChange={(e) => (theme.value = e.currentTarget.value as Theme)}>
            <option value="system">System colours</option>
            <option value="light">Light</option>
            <option value="dark">Dark</option>
          </select>
        </label>
        {nobody() && <a href={href(['db'])}>Log in</a>}
        {user.value?.name && (
          <span>
            {user.value.name}{' '}
            <button class="quiet" onClick={() => leave(() => void logOut())}>
              Log out
            </button>
          </span>
        )}
        <span class="dim version">{server.value && `Sectional ${server.value.vendor.version ?? ''}`}</span>
      </div>
    </header>
  )
}

function Page() {
  const [section = 'db', ...rest] = route.value.parts
  if (section === 'db' && rest.length === 0) return <Databases />
  if (section === 'db') return <Database key={rest[0]} name={rest[0]!} parts={rest.slice(1)} />
  if (section === 'tables') return <Tables key={rest[0]} name={rest[0]} />
  if (section === 'live') return <Live />
  if (section === 'users') return <Users />
  if (section === 'help') return <Manual path={rest.join('/')} />
  return <Missing />
}

function Missing() {
  return (
    <>
      <Head title="Page not found" />
      <p>The address names no page of the dashboard.</p>
      <a class="button" href={href(['db'])}>
        All databases
      </a>
    </>
  )
}

/** Manual is the help, whose code comes when it is asked for. */
function Manual({ path }: { path: string }) {
  const [loaded, setLoaded] = useState<{ help?: typeof import('./pages/help').default }>({})
  useEffect(() => void import('./pages/help').then((m) => setLoaded({ help: m.default })), [])
  return loaded.help ? <loaded.help key={path} path={path} /> : <p class="dim" role="status">Loading …</p>
}
