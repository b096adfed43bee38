/**
 * The PostgreSQL store on the oldest server that it takes, and on the newest: the contract, migrations, other programs
 * on the same server, and a storm of processes and of the server itself.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages } from '../support/own-packages.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { Proof } from './proof.ts'
import { runProgram, runTests } from './tests.ts'

const packages = fileURLToPath(new URL('../postgres-servers', import.meta.url))
const versions = ['14', '18']
const tests = ['test/stores/postgres', 'test/api/your-transaction/enqueue.test.ts']
const sizes = { jobs: 1_000, kills: 10, restarts: 4 }

interface Link {
  readonly source: string
  readonly target: string
}

/** A copy of the programs of a version, which the user of a server can read. @returns their folder */
function programsOf(version: string, folder: string): string {
  const from = join(packages, 'node_modules', `postgres-${version}`)
  chmodSync(folder, 0o755)
  cpSync(join(from, 'native'), join(folder, 'native'), { recursive: true })
  // A package cannot have links: a script that is not run would make them.
  for (const { source, target } of JSON.parse(readFileSync(join(from, 'native/pg-symlinks.json'), 'utf8')) as Link[]) {
    mkdirSync(join(folder, dirname(target)), { recursive: true })
    symlinkSync(relative(dirname(target), source), join(folder, target))
  }
  return join(folder, 'native/bin')
}

export const postgresVersions: Proof = {
  name: 'postgres-versions',
  claim: `the PostgreSQL store keeps its contract on servers of version ${versions.join(' and ')}`,
  async run({ seed, scale }) {
    installPackages(packages)
    const failures: string[] = []
    const said: string[] = []
    for (const version of versions) {
      const folder = temporaryFolder()
      try {
        const bin = programsOf(version, folder.path)
        const environment = { JOBCHART_POSTGRES_BIN: bin }
        said.push(execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }).trim())
        const many = Object.entries(sizes).flatMap(([name, n]) => [`--${name}`, String(n * scale)])
        const storm = ['test/storm/main.ts', '--store', 'postgres', ...many, '--seed', String(seed)]
        const failed = [...(await runTests(tests, environment)), ...(await runProgram(storm, environment))]
        failures.push(...failed.map((failure) => `PostgreSQL ${version}: ${failure}`))
      } finally {
        folder.remove()
      }
    }
    return { summary: `${said.join(', ')}: ${tests.join(', ')}, a storm each`, failures }
  },
}
