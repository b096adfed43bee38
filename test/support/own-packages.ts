/**
 * Packages that only some tests need: a folder with a package.json and a lock file of its own, so that `npm ci` leaves
 * them out. `node test/support/own-packages.ts test/packaging …` installs those of folders.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The packages of a folder that are not installed. */
export function missingPackages(folder: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  return Object.keys(dependencies).filter((name) => !existsSync(join(folder, 'node_modules', name, 'package.json')))
}

/** Installs the packages of a folder as its lock file has them, unless they are there. */
export function installPackages(folder: string): void {
  if (missingPackages(folder).length === 0) return
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: folder, stdio: ['ignore', 2, 2] })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const folder of process.argv.slice(2)) installPackages(resolve(folder))
}
