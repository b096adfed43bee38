/**
 * Leaves of the built package what a user's compiler reads: a declaration that no entry of `exports` leads to is never opened,
 * and there is one per module.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

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
