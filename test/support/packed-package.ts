/** The package as it is published. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { repositoryRoot as root } from './tidy/repository.ts'

interface Packed {
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

export interface PackedPackage extends Packed {
  /** The path of the tarball. */
  readonly tarball: string
}

const run = (cwd: string, command: string, ...args: string[]): string =>
  execFileSync(command, args, { cwd, encoding: 'utf8' })

/** Packs what is built into `folder`. */
export function packPackage(folder: string): PackedPackage {
  const [packed] = JSON.parse(run(folder, process.execPath, join(root, '.ci/pack.mjs'), '--json')) as [Packed]
  return { ...packed, tarball: join(folder, packed.filename) }
}

/** Installs a tarball into a project, with what it depends on linked from this repository. */
export function installPacked({ tarball }: PackedPackage, project: string, others: readonly string[]): void {
  mkdirSync(join(project, 'node_modules/jobchart'), { recursive: true })
  run(project, 'tar', 'xzf', tarball, '--strip-components=1', '-C', join(project, 'node_modules/jobchart'))
  for (const name of ['xstate', 'rxjs', 'tslib', ...dependencies(), ...others]) {
    mkdirSync(dirname(join(project, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
  }
}

function dependencies(): string[] {
  const { dependencies: named } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: object
  }
  return Object.keys(named)
}
