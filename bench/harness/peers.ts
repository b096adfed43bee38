/** What we compare with: packages of bench/package.json, which nothing but a benchmark needs. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = new URL('../', import.meta.url)

/** Installs them as locked, unless they are there. */
export function installPeers(): void {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const names = Object.keys(dependencies)
  const missing = names.filter((name) => !existsSync(new URL(`node_modules/${name}/package.json`, folder)))
  if (missing.length === 0) return
  console.error(
    `Installing what we compare with into bench/node_modules: ${missing.join(', ')} (--no-peers goes without)`,
  )
  // Not `npm ci`, which refuses a lock file without the optional packages of other platforms. None of them needs its
  // scripts.
  const install = ['install', '--no-save', '--ignore-scripts', '--prefix', fileURLToPath(folder)]
  execFileSync('npm', install, { stdio: ['ignore', 2, 2] })
}

/** Imports a peer. Typed by the caller, because types must check where the peers are not installed. */
export async function importPeer<Module>(name: string): Promise<Module> {
  return (await import(name)) as Module
}
