/** A job to take along: as JSON, as a call of the API, and as a test in virtual time. */
import type { JSX } from 'preact'
import type { JobView } from '../job-view.ts'
import type { TestProgram } from '../test-program.ts'
import { get, jobPath } from './api.ts'
import { say } from './dialog.tsx'
import { Menu } from './menu.tsx'

/** A text in single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const curlOf = (id: string): string =>
  `curl -s ${quoted(new URL(`api/v1${jobPath(id)}`, location.href.split('#')[0]).href)} -H "authorization: Bearer $TOKEN"`

export function CopyAs({ of: { job, machine, checkpoints } }: { readonly of: JobView }): JSX.Element {
  const copy = async (what: string, make: () => string | Promise<string>): Promise<void> => {
    try {
      await navigator.clipboard.writeText(await make())
      say(`${what} was copied.`)
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), true)
    }
  }
  const program = async (): Promise<string> => (await get<TestProgram>(`${jobPath(job.id)}/test`)).program
  return (
    <Menu
      title="Copy as"
      of={[
        ['Id', () => void copy('The id', () => job.id)],
        ['JSON', () => void copy('The job', () => JSON.stringify({ job, machine, checkpoints }, null, 2))],
        ['curl', () => void copy('The call', () => curlOf(job.id))],
        ['Test in virtual time', () => void copy('The test', program)],
      ]}
    />
  )
}
