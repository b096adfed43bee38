/** The built package, made anew when a source is younger than it. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)

export const builtEntry = new URL('dist/src/index.js', root)

/** Builds if there is no build, or an old one. */
export function buildIfStale(): void {
  const builtAt = existsSync(builtEntry) ? statSync(builtEntry).mtimeMs : -Infinity
  if (youngest('src/') < builtAt && youngest('machines/') < builtAt) return
  console.error('Building dist/, whose import is to be measured')
  execFileSync('npm', ['run', 'build', '--prefix', fileURLToPath(root)], { stdio: ['ignore', 2, 2] })
}

function youngest(folder: string): number {
  const files = readdirSync(new URL(folder, root), { recursive: true, withFileTypes: true })
  return Math.max(
    ...files.filter((file) => file.isFile()).map(({ parentPath, name }) => statSync(`${parentPath}/${name}`).mtimeMs),
  )
}
