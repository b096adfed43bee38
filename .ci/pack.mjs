/**
 * Leaves of the built package what a user's programs and compiler read: a declaration that no entry of `exports` leads to is never
 * opened, and there is one per module. Rooms that only their own entry is imported from become one module each.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const specifiers = /(?:from|import|import\()\s*['"](\.[^'"]+)['"]/g

const reached = new Set()
const open = Object.values(exports).flatMap(({ types }) => (types === undefined ? [] : [join(root, types)]))
for (let file = open.pop(); file !== undefined; file = open.pop()) {
  if (reached.has(file)) continue
  if (!existsSync(file)) throw new Error(`${relative(root, file)} is missing: run npm run build first`)
  reached.add(file)
  for (const [, specifier] of readFileSync(file, 'utf8').matchAll(specifiers)) {
    open.push(join(dirname(file), specifier.replace(/\.[jt]s$/, '.d.ts')))
  }
}
for (const entry of readdirSync(join(root, 'dist'), { recursive: true })) {
  const file = join(root, 'dist', entry)
  if (file.endsWith('.d.ts') && !reached.has(file)) rmSync(file)
}

for (const room of ['dist/src/chart', 'dist/src/dashboard', 'dist/src/stores/memory']) {
  const entry = join(root, room, 'index.js')
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    packages: 'external',
    absWorkingDir: root,
    // Modules of other rooms stay where they are: there is one of each in a process.
    plugins: [
      {
        name: 'own-room',
        setup: (bundle) => bundle.onResolve({ filter: /^\.\.\// }, ({ path }) => ({ path, external: true })),
      },
    ],
  })
  for (const module of Object.keys(metafile.inputs)) rmSync(join(root, module))
  writeFileSync(entry, outputFiles[0].text)
}
