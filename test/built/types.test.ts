/** The published types, as users of both TypeScript versions that are in use compile against them. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Each with the names of the libraries that `es2025` became in TypeScript 6. */
const compilers = [
  ['typescript', ['es2024', 'esnext.disposable', 'es2025.collection', 'es2025.iterator']],
  ['typescript-5.9', ['es2024', 'esnext.disposable', 'esnext.collection', 'esnext.iterator']],
] as const

// `npm run types` compiles the same with the first of them.
test.each(isLong ? compilers : compilers.slice(1))('%s compiles what the tests of types say', (compiler, lib) => {
  const files = ['test/api/jobs/types.test.ts', 'test/machine-job/types.test.ts'].map((file) => join(root, file))
  expect(ofPackage(compile(compiler, lib, newFolder(), files))).toEqual([])
})

test.each(isLong ? compilers : compilers.slice(0, 1))(
  '%s names the event in its error about an event that the machine of a definition does not have',
  (compiler, lib) => {
    const folder = newFolder()
    const program = join(folder, 'program.ts')
    writeFileSync(program, wrongEvent)
    const [error = '', ...others] = compile(compiler, lib, folder, [program]).split(/\n(?=\S)/)
    expect(others.filter((line) => line !== '')).toEqual([])
    expect(error).toContain('program.ts(6,')
    expect(error).toContain(`Type '"REJECT"' is not assignable to type '"APPROVE" | "PAY"'`)
  },
)

test('loggers of pino and winston, and console, are loggers by their types', () => {
  const folder = newFolder()
  const program = join(folder, 'program.ts')
  writeFileSync(program, loggers)
  expect(compile('typescript', compilers[0][1], folder, [program])).toBe('')
})

test('an author of a store has the types of all requests and answers', () => {
  const folder = newFolder()
  const program = join(folder, 'program.ts')
  writeFileSync(program, ownStore)
  expect(compile('typescript', compilers[0][1], folder, [program])).toBe('')
})

const ownStore = `import type {
  Answer, CheckpointEntry, CheckpointRequest, Clock, Hint, InboxEntry, InsertAnswer, InsertRequest, JobRecord, JobState, Json,
  NewJob, SettleAnswer, Settlement, Store, StoredSchedule, WorkerInfo,
} from 'jobchart/store'
declare const inner: Store
const jobs = new Map<string, { readonly job: NewJob; state: JobState; output: Json | undefined }>()
export const insert = (requests: readonly InsertRequest[]): Answer<InsertAnswer[][]> => {
  for (const { jobs: all } of requests) for (const job of all) jobs.set(job.id, { job, state: 'queued', output: undefined })
  return inner.insert(requests)
}
export const settle = (settlements: readonly Settlement[]): Answer<SettleAnswer[]> => inner.settle(settlements)
export const checkpoint = (requests: readonly CheckpointRequest[]) => inner.checkpoint(requests)
export const store: Store = { ...inner, insert, settle, checkpoint, open: ({ clock }: { readonly clock: Clock }) => inner.open({ clock }) }
export type Kept = [CheckpointEntry, Hint, InboxEntry, JobRecord, StoredSchedule, WorkerInfo]
`

const loggers = `import { createClient } from 'jobchart'
import { pino } from 'pino'
import winston from 'winston'
createClient({ logger: pino() })
createClient({ logger: pino().child({ part: 'jobs' }) })
createClient({ logger: winston.createLogger() })
createClient({ logger: console })
createClient({ logger: { warn: (message, fields) => console.warn(message, fields) } })
// @ts-expect-error -- no method of a logger
createClient({ logger: { warning: () => {} } })
`

const wrongEvent = `import { createClient, defineJob, memoryStore } from 'jobchart'
import { setup } from 'xstate'
const types = { events: {} as { type: 'APPROVE' } | { type: 'PAY'; pounds: number } }
const order = defineJob({ type: 'order', machine: setup({ types }).createMachine({}) })
const client = createClient({ store: memoryStore() })
await client.send(order, 'a', { type: 'REJECT' })
await client.send(order, 'a', { type: 'PAY', pounds: 1 })
`

function newFolder(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return folder.path
}

/** What the compiler says of the files, for which it is set up as an application is. */
function compile(compiler: string, lib: readonly string[], folder: string, include: readonly string[]): string {
  const vitest = join(folder, 'vitest.d.ts')
  writeFileSync(vitest, vitestAsUsed)
  const paths = {
    vitest: [vitest],
    'expect-type': [join(root, 'node_modules/expect-type')],
    jobchart: [join(root, 'dist/src/index.d.ts')],
    'jobchart/store': [join(root, 'dist/src/stores/remote/index.d.ts')],
    pino: [join(root, 'node_modules/pino/pino.d.ts')],
    winston: [join(root, 'node_modules/winston/index.d.ts')],
    xstate: [join(root, 'node_modules/xstate/dist/xstate.cjs.d.ts')],
  }
  const compilerOptions = {
    paths,
    target: 'es2023',
    lib,
    module: 'nodenext',
    moduleDetection: 'force',
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    strict: true,
    exactOptionalPropertyTypes: true,
    // Nearly all of it is the types of Node and of our dependencies.
    skipLibCheck: !isLong,
    noEmit: true,
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
  const tsc = join(root, 'node_modules', compiler, 'bin/tsc')
  return spawnSync(process.execPath, [tsc, '--project', folder], { encoding: 'utf8' }).stdout
}

/** The tests of types use no more of Vitest, whose own types would take most of the time. */
const vitestAsUsed = `
export { expectTypeOf } from 'expect-type'
export declare function test(name: string, run: () => void | Promise<void>): void
`

/** The faults that are not in the types of another package. */
const ofPackage = (stdout: string): string[] =>
  stdout.split('\n').filter((line) => /error TS/.test(line) && !line.includes('node_modules/'))
