/**
 * Leaves of the built package what a user's programs and compiler read. The modules become one file per entry, and one per set of
 * entries that share them: there is one of each module in a process, and no entry loads what only another needs. A declaration
 * that no entry of `exports` leads to is never opened, and is removed. So are scripts and what only this repository needs from
 * package.json, until `unpack.mjs` puts it back: npm asks whoever installs a tarball to allow its `prepare`.
 */
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const manifest = join(root, 'package.json')
const { scripts: _scripts, devDependencies: _tools, allowScripts: _, ...published } = JSON.parse(readFileSync(manifest, 'utf8'))
const { exports, imports, bin = {} } = published
const subpaths = Object.values(exports).filter((subpath) => typeof subpath === 'object')
const specifiers = /(?:from|import|import\()\s*['"](\.[^'"]+)['"]/g

/** What the conditions of a program choose from stays apart: what a name such as `#stores` stands for. */
const choices = new Set(Object.values(imports).flatMap(({ '@jobchart/source': _source, ...targets }) => Object.values(targets)))

const threads = [
  'dist/src/stores/sqlite/thread.js',
  'dist/src/thread/main.js',
  'dist/src/dashboard/drawing-thread.js',
]

const keep = new Set()
const open = subpaths.map(({ types }) => join(root, types))
for (let file = open.pop(); file !== undefined; file = open.pop()) {
  if (keep.has(file)) continue
  if (!existsSync(file)) throw new Error(`${relative(root, file)} is missing: run npm run build first`)
  keep.add(file)
  const declarations = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  for (const [, specifier] of declarations.matchAll(specifiers)) {
    open.push(join(dirname(file), specifier.replace(/\.[jt]s$/, '.d.ts')))
  }
}

/** Scripts of a server are texts: what explains and indents them for readers is left out. */
const withBareScripts = {
  name: 'bare-scripts',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]stores[/\\]redis[/\\]scripts[/\\][^/\\]+\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(/^ *-- .*\n|^ +/gm, ''),
    }))
  },
}

const { metafile } = await build({
  // Threads are started by their path, which is beside that of an entry.
  entryPoints: [...subpaths.map((subpath) => subpath.default), ...Object.values(bin), ...choices, ...threads],
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  metafile: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  // Shorter forms of the same statements: names and lines, which a stack trace shows, stay.
  minifySyntax: true,
  packages: 'external',
  external: Object.keys(imports),
  outbase: 'dist',
  outdir: 'dist',
  chunkNames: 'shared/[hash]',
  allowOverwrite: true,
  plugins: [withBareScripts],
})
for (const output of Object.keys(metafile.outputs)) keep.add(join(root, output))

for (const entry of readdirSync(dist, { recursive: true })) {
  const file = join(dist, entry)
  if (/\.(js|d\.ts)$/.test(file) && !keep.has(file)) rmSync(file)
}

copyFileSync(manifest, join(root, '.ci/package.json'))
// What the condition leads to is not in the package.
const withoutSources = (name, value) => (name === '@jobchart/source' ? undefined : value)
writeFileSync(manifest, `${JSON.stringify(published, withoutSources, 2)}\n`)
