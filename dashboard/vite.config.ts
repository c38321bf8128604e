import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'

// noteSources writes what the built files were built from. A test of the Go package compares it with the sources.
const noteSources: Plugin = {
  name: 'note-sources',
  apply: 'build',
  closeBundle() {
    const hash = createHash('sha256')
    const here = import.meta.dirname
    const below = (dir: string) => readdirSync(`${here}/${dir}`, { recursive: true, withFileTypes: true })
    const top = readdirSync(here, { withFileTypes: true }).filter((f) => /\.(json|html|ts)$/.test(f.name))
    const found = [...top, ...below('public'), ...below('src')]
    const files = found.filter((f) => f.isFile()).map((f) => `${f.parentPath}/${f.name}`.slice(here.length + 1)).sort()
    for (const file of files) hash.update(`${file}\n`).update(readFileSync(`${here}/${file}`))
    writeFileSync(`${here}/../internal/dashboard/sources.sha256`, hash.digest('hex') + '\n')
  },
}

// The built files are committed: `go build` alone embeds them. Paths are relative, so that the dashboard works below
// whatever prefix a proxy gives it.
export default defineConfig({
  base: './',
  plugins: [noteSources],
  build: {
    outDir: '../internal/dashboard/dist',
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content security policy takes files of this server alone
    modulePreload: { polyfill: false },
    target: 'es2023',
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: { proxy: { '^/(?!src|@|node_modules|index.html|_utils)': process.env.SECTIONAL_URL ?? 'http://127.0.0.1:5984' } },
})
