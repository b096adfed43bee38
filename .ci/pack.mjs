/**
 * Packs what `npm run build` has built, with the options of `npm pack` that follow. The tarball is made of a folder of its own, so that
 * this one stays as it is, however packing ends. In that folder is what a user's programs and compiler read: the modules become one
 * file per entry, and one per set of entries that share them: there is one of each module in a process, and no entry loads what only
 * another needs. A declaration that no entry of `exports` leads to is never opened, and is left out. So are scripts and what only this
 * repository needs from package.json: npm asks whoever installs a tarball to allow its `prepare`.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { scripts: _scripts, devDependencies: _tools, allowScripts: _, ...published } = manifest
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

const declared = new Set()
const open = subpaths.map(({ types }) => join(root, types))
for (let file = open.pop(); file !== undefined; file = open.pop()) {
  if (declared.has(file)) continue
  if (!existsSync(file)) throw new Error(`${relative(root, file)} is missing: run npm run build first`)
  declared.add(file)
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

/** What is said of private members of classes, and of a module, is for readers of the sources: no editor shows it. */
const forUsers = (declarations) =>
  declarations
    .replaceAll(/\n *\/\*\*(?:(?!\*\/)[\s\S])*\*\/(?=\n *private )/g, '')
    .replace(/^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n(?=import |export (?:type )?[*{])/, '')

/** What is packed beside the modules: npm takes of it what `files` names. */
const others = ['README.md', 'LICENSE', 'llms.txt', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]

const folder = mkdtempSync(join(tmpdir(), 'jobchart-pack-'))
try {
  await build({
    // Threads are started by their path, which is beside that of an entry.
    entryPoints: [...subpaths.map((subpath) => subpath.default), ...Object.values(bin), ...choices, ...threads],
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    // Shorter forms of the same statements: names and lines, which a stack trace shows, stay.
    minifySyntax: true,
    packages: 'external',
    external: Object.keys(imports),
    outbase: 'dist',
    outdir: join(folder, 'dist'),
    chunkNames: 'shared/[hash]',
    plugins: [withBareScripts],
  })
  for (const file of declared) {
    const packed = join(folder, relative(root, file))
    mkdirSync(dirname(packed), { recursive: true })
    writeFileSync(packed, forUsers(readFileSync(file, 'utf8')))
  }
  for (const file of others.filter((name) => /\.(md|txt)$|LICENSE/.test(name))) cpSync(join(root, file), join(folder, file))
  // What the condition leads to is not in the package.
  const withoutSources = (name, value) => (name === '@jobchart/source' ? undefined : value)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, withoutSources, 2)}\n`)
  const { status } = spawnSync('npm', ['pack', folder, ...process.argv.slice(2)], { stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true })
}
