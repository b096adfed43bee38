/**
 * The house rules, held. Each test first shows that its rule can fail, so that a silent rule is not taken for a clean
 * house.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importViolations, packages, rooms } from './support/tidy/import-table.ts'
import { listedCalls, upwardCalls } from './support/tidy/upward-calls.ts'
import { exportedSources, repositoryRoot, textFiles } from './support/tidy/repository.ts'
import * as rules from './support/tidy/rules.ts'
import { readSource } from './support/tidy/source-file.ts'
import { isolated } from './vitest.config.ts'

const everything = textFiles()
const code = everything.filter(({ path }) => /\.tsx?$/.test(path)).map(({ path, text }) => readSource(path, text))
const library = code.filter(({ path }) => /^(src|machines)\//.test(path))

const sample = (path: string, ...lines: string[]) => [readSource(path, lines.join('\n'))]

test('no file in src/ or machines/ is longer than a reader can hold', () => {
  expect(rules.longFiles(sample('src/a.ts', ...Array<string>(601).fill('f()')))).toEqual([
    'src/a.ts has 601 lines, 600 at most',
  ])
  const measured = everything
    .filter(({ path }) => /^(src|machines)\//.test(path))
    .map(({ path, text }) => ({ path, lineCount: text.trimEnd().split('\n').length }))
  expect(rules.longFiles(measured)).toEqual([])
})

test('no function in src/ or machines/ is longer than a screen', () => {
  const body = Array<string>(79).fill('f()')
  expect(rules.longFunctions(sample('src/a.ts', 'const g = () => {', ...body, '}'))).toEqual([
    'src/a.ts:1 g has 81 lines, 80 at most',
  ])
  expect(rules.longFunctions(sample('src/a.ts', 'const g = () => {', ...body.slice(1), '}'))).toEqual([])
  expect(rules.longFunctions(library)).toEqual([])
})

test('no comment is wider than a line, and no line of code is kept from the formatter', () => {
  const wide = `  // ${'word '.repeat(30)}`
  expect(rules.wideComments([{ path: 'src/a.ts', text: `f()\n${wide}\n// oxlint-disable-next-line ${wide}` }])).toEqual(
    ['src/a.ts:2 is a comment of 155 characters, 120 at most'],
  )
  const sources = everything.filter(({ path }) => /\.tsx?$/.test(path) && !path.includes('generated'))
  expect(rules.wideComments(sources)).toEqual([])
  expect(sources.filter(({ text }) => / \/\/ prettier-ignore\n/.test(text)).map(({ path }) => path)).toEqual([])
})

test('every module imports only what the import table allows its room', () => {
  const violations = (path: string, line: string) => importViolations(sample(path, line))
  for (const [path, line] of [
    ['src/worker/claim.ts', "import { memoryStore } from '../stores/memory/index.ts'"],
    ['src/stores/redis/index.ts', "import type { Heap } from '../memory/heap.ts'"],
    ['src/stores/redis/index.ts', "export * from '../../flow/claim.ts'"],
    ['src/core/record.ts', "const late = await import('../runtime.ts')"],
    ['src/core/record.ts', "type Late = import('../runtime.ts').Runtime"],
    ['src/store.ts', "import { Subject } from 'rxjs'"],
    ['src/core/backoff.ts', "import { setup } from 'xstate'"],
    ['src/stores/memory/index.ts', "import { DatabaseSync } from 'node:sqlite'"],
    ['src/worker/claim.ts', "import lodash from 'lodash'"],
    ['machines/a.machine.ts', "import { readFileSync } from 'node:fs'"],
    ['src/attic.ts', ''],
  ] as const) {
    expect(violations(path, line), line).toHaveLength(1)
  }
  for (const [path, line] of [
    ['src/stores/redis/index.ts', "import { keys } from './keys.ts'"],
    ['src/core/lifecycle.ts', "import { jobMachine } from '../../machines/job.machine.ts'"],
    ['src/store.ts', "import type { Observable } from 'rxjs'"],
    ['src/core/record.ts', "import { type AnyStateMachine } from 'xstate'"],
    ['src/worker/claim.ts', "import { map } from 'rxjs/operators'"],
    ['src/stores/sqlite/index.ts', "import { DatabaseSync } from 'node:sqlite'"],
  ] as const) {
    expect(violations(path, line), line).toEqual([])
  }
  expect(importViolations(library)).toEqual([])
})

test('no imports form a circle, types included', () => {
  const files = [
    ...sample('src/a.ts', "import { b } from './b/b.ts'"),
    ...sample('src/b/b.ts', "import type { C } from '../c.ts'"),
    ...sample('src/c.ts', "export * from './a.ts'", "import { d } from './d.ts'"),
    ...sample('src/d.ts', "import { b } from 'rxjs'"),
  ]
  expect(rules.importCircles(files)).toEqual(['src/a.ts → src/b/b.ts → src/c.ts → src/a.ts'])
  expect(rules.importCircles(files.slice(1))).toEqual([])
  expect(rules.importCircles(code)).toEqual([])
})

test('the page about rooms lists every function that a room gives to an object of a lower room, 12 at most', () => {
  const api = (line: string) => sample('src/api/a.ts', "import { Worker } from '../worker/worker.ts'", line)
  const call = { name: 'Worker.changed', from: 'worker', to: 'api' }
  expect(upwardCalls(api('new Worker({ id, changed: () => check() })'))).toEqual([call])
  expect(upwardCalls(api('new Worker({ id, changed() { check() } })'))).toEqual([call])
  expect(upwardCalls(api('new Worker(() => check())'))).toEqual([{ ...call, name: 'Worker' }])
  expect(upwardCalls(api('new Worker({ id, check })'))).toEqual([])
  expect(upwardCalls(api('new Other({ changed: () => check() })'))).toEqual([])
  const inside = "import { Worker } from './worker.ts'"
  expect(upwardCalls(sample('src/worker/a.ts', inside, 'new Worker({ changed: () => check() })'))).toEqual([])
  expect(listedCalls('| `Worker.changed` | worker | api | why |')).toEqual([call])

  const page = readFileSync(join(repositoryRoot, 'docs/decisions/0010-rooms.md'), 'utf8')
  expect(listedCalls(page)).toEqual(upwardCalls(library))
  expect(listedCalls(page).length).toBeLessThanOrEqual(12)
})

test('what a file exports is imported by another one', () => {
  const files = [
    ...sample('src/a.ts', 'export const [x, y] = [1, 2]', 'export const a = 1, b = 2', 'export type T = 1'),
    ...sample('src/b.ts', 'export function c() {}', 'export class D {}'),
    ...sample('src/index.ts', 'export { a } from "./a.ts"', 'export const entry = 1'),
  ]
  const tests = sample('test/a.test.ts', "import { c as d, type T } from '../src/b.ts'", "import * as a from './a.ts'")
  expect(rules.unusedExports(files, [...files, ...tests], ['src/index.ts'])).toEqual([
    'src/a.ts:2 exports b, which no other file imports',
    'src/a.ts:3 exports T, which no other file imports',
    'src/b.ts:2 exports D, which no other file imports',
  ])
  const entries = exportedSources(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'))
  expect(rules.unusedExports(library, code, entries)).toEqual([])
})

test('every row of the import table says why', () => {
  expect([...rooms, ...packages].filter(({ why }) => why === '')).toEqual([])
})

test('time, chance, the console and the end of the process are reached only from their homes', () => {
  const bad = [
    'Date.now()',
    'globalThis.setTimeout(f, 1)',
    'const later = setImmediate',
    'new Date()',
    'Math.random()',
    "console.log('x')",
    'process.exit(1)',
    "import { setTimeout as sleep } from 'node:timers/promises'",
  ]
  for (const line of bad) expect(rules.bannedNames(sample('src/worker/claim.ts', line)), line).not.toEqual([])
  const good = ['new Date(dueAt)', 'clock.setTimeout(f, 1)', 'let t: ReturnType<typeof setTimeout>', 'clearTimeout(t)']
  for (const line of good) expect(rules.bannedNames(sample('src/worker/claim.ts', line)), line).toEqual([])
  expect(rules.bannedNames(sample('src/core/clock.ts', 'Date.now()'))).toEqual([])
  expect(rules.bannedNames(library)).toEqual([])
})

test('every file in src/ and machines/ is reached from what the package exports', () => {
  const files = [...sample('src/index.ts', "export * from './b.ts'"), ...sample('src/b.ts'), ...sample('src/c.ts')]
  expect(rules.orphans(files, ['src/index.ts', 'src/gone.ts'])).toEqual([
    'src/gone.ts is exported, but not there',
    'src/c.ts is imported by nobody',
  ])
  const roots = exportedSources(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'))
  expect(roots).toContain('src/index.ts')
  // Threads and the command line are started by the names of their files; the page is built from its own.
  const threads = ['src/stores/sqlite/thread.ts', 'src/thread/main.ts', 'src/dashboard/drawing-thread.ts']
  const started = [...threads, 'src/dashboard/page/main.tsx', 'src/dashboard/page/push-worker.ts', 'src/cli/main.ts']
  expect(rules.orphans(library, [...roots, ...started, 'machines/index.ts'])).toEqual([])
})

test('no code is left for later, forced past the type checker or left out of the run', () => {
  const bad = [
    '// TODO: soon',
    '/* FIXME */',
    '// @ts-ignore',
    'f(x as any)',
    'test.only(f)',
    'describe.each(a).skip(f)',
  ]
  for (const line of bad) expect(rules.unfinishedWork(sample('test/a.test.ts', line)), line).toHaveLength(1)
  expect(rules.unfinishedWork(sample('test/a.test.ts', '// todos are jobs', 'stream.skip(1)'))).toEqual([])
  expect(rules.unfinishedWork(code)).toEqual([])
})

test('no text names the machine it was written on or the way it was made', () => {
  // Cut in two, because this file is read as well.
  const bad = ['see /ho|me/me/x', 'as the last ses|sion said', 'fixes issue |#12'].map((text) => text.replace('|', ''))
  for (const text of bad) expect(rules.bannedPhrases([{ path: 'a.md', text }]), text).toHaveLength(1)
  expect(rules.bannedPhrases([{ path: 'a.md', text: 'https://example.org/work/x and ./home/y' }])).toEqual([])
  expect(rules.bannedPhrases(everything)).toEqual([])
})

test('a test that replaces modules runs in a process of its own', () => {
  const replaces = /\bvi\.(do)?(m|M)ock\(|\bvi\.resetModules\(/
  const files = everything.filter(({ path, text }) => path.endsWith('.test.ts') && replaces.test(text))
  const paths = files.map(({ path }) => path).filter((path) => path !== 'test/tidy.test.ts')
  expect(paths.length).toBeGreaterThan(0)
  expect(paths.filter((path) => !isolated.includes(path))).toEqual([])
})
