import { render } from 'preact'
import { App } from './app'
import './ui/style.css'

render(<App />, document.getElementById('app')!)
