/**
 * Who may import whom. The rows are the design; `importViolations` only reads them. A room is a folder (ending in `/`)
 * or a file; `*` stands for one name. A room may always import itself, and nothing that its row does not name.
 */
import { posix } from 'node:path'
import type { SourceFile } from './source-file.ts'

interface RoomRow {
  room: string
  may: readonly string[]
  why: string
}

interface PackageRow {
  package: string
  rooms: readonly string[]
  /** Where its types may be named beside those rooms. */
  typesIn?: string
  why: string
}

const leaves = ['src/errors.ts', 'src/clock.ts', 'src/checks.ts', 'src/heap.ts']
const streams = ['src/flow/stream.ts', 'src/flow/iterate.ts']
const contract = [...leaves, 'src/job/', 'src/core/', 'src/store.ts']
const steps = [...contract, 'machines/', 'src/limits.ts', 'src/options.ts', 'src/call-options.ts', 'src/log.ts']
const services = [...steps, 'src/define-job.ts', 'src/handle.ts', 'src/hosting.ts', 'src/flow/', 'src/machine-job/']
const roots = [
  'src/client.ts',
  'src/runtime.ts',
  'src/runtime-stats.ts',
  'src/queue.ts',
  'src/version.ts',
  'src/stores/memory/',
]
const faces = ['src/index.ts', ...contract, 'src/stores/memory/']

export const rooms: readonly RoomRow[] = [
  { room: 'machines/', may: [], why: 'a chart is a description: it knows nothing of what runs it' },
  { room: 'src/errors.ts', may: [], why: 'everything throws, so errors stand on nothing' },
  { room: 'src/clock.ts', may: [], why: 'time and chance are parameters of everything else' },
  { room: 'src/checks.ts', may: ['src/errors.ts'], why: 'checks a value, knows no option' },
  { room: 'src/heap.ts', may: [], why: 'a data structure' },
  { room: 'src/log.ts', may: ['src/errors.ts', 'src/clock.ts'], why: 'one line per entry, no knowledge of jobs' },
  {
    room: 'src/job/',
    may: ['machines/', 'src/errors.ts', 'src/clock.ts', 'src/checks.ts'],
    why: 'what a job is: pure, from the chart up',
  },
  {
    room: 'src/core/',
    may: ['src/job/'],
    why: 'what each operation does to a job: pure and synchronous, written once',
  },
  {
    room: 'src/store.ts',
    may: ['src/job/', 'src/core/', 'src/errors.ts', 'src/clock.ts'],
    why: 'the contract, without a store',
  },
  { room: 'src/stores/*/', may: contract, why: 'an adapter keeps the contract alone: no flow, no other adapter' },
  {
    room: 'src/options.ts',
    may: [...contract, 'src/limits.ts', 'src/log.ts', 'src/define-job.ts'],
    why: 'defaults and limits, checked before anything runs',
  },
  { room: 'src/limits.ts', may: ['src/job/'], why: 'numbers' },
  {
    room: 'src/call-options.ts',
    may: [...contract, 'machines/', 'src/limits.ts'],
    why: 'what a call takes and reports',
  },
  { room: 'src/version.ts', may: [], why: 'a constant' },
  { room: 'src/runtime-stats.ts', may: ['machines/', 'src/queue.ts'], why: 'what a runtime says of itself' },
  { room: 'src/queue.ts', may: services, why: 'a queue in the hand of the caller' },
  {
    room: 'src/define-job.ts',
    may: [...steps, 'src/handle.ts', 'src/hosting.ts', 'src/machine-job/'],
    why: 'a definition names the handle it returns, and checks its machine',
  },
  { room: 'src/hosting.ts', may: [...steps, 'src/define-job.ts'], why: 'what flow and machines know of each other' },
  {
    room: 'src/handle.ts',
    may: [...steps, ...streams, 'src/define-job.ts', 'src/hosting.ts'],
    why: 'a handle is typed by its definition',
  },
  {
    room: 'src/flow/',
    may: [...steps, 'src/define-job.ts', 'src/handle.ts', 'src/hosting.ts', 'src/version.ts'],
    why: 'flow sees the contract, never a store',
  },
  { room: 'src/machine-job/', may: services, why: 'a machine is hosted by the same flow as a handler' },
  {
    room: 'src/client.ts',
    may: [...services, 'src/queue.ts', 'src/stores/memory/'],
    why: 'composition root without workers',
  },
  { room: 'src/runtime.ts', may: [...services, ...roots], why: 'composition root' },
  { room: 'src/index.ts', may: [...services, ...roots], why: 'the public names, listed one by one' },
  { room: 'src/testing/', may: faces, why: 'built on what a user can import' },
  { room: 'src/dashboard/', may: [...faces, 'src/chart/'], why: 'built on what a user can import' },
  { room: 'src/cli/', may: [...faces, 'src/chart/', 'src/dashboard/'], why: 'built on what a user can import' },
  { room: 'src/chart/', may: ['machines/'], why: 'draws any machine; ours are only its defaults' },
]

export const packages: readonly PackageRow[] = [
  {
    package: 'xstate',
    rooms: ['machines/', 'src/job/lifecycle.ts', 'src/machine-job/', 'src/chart/', 'src/runtime.ts'],
    typesIn: 'src/',
    why: 'the hot path reads a compiled table; XState stays where charts are made, hosted or drawn',
  },
  {
    package: 'rxjs',
    rooms: [
      'src/flow/',
      'src/runtime.ts',
      'src/client.ts',
      'src/handle.ts',
      'src/define-job.ts',
      'src/machine-job/',
      'src/dashboard/',
      'src/testing/',
      'src/index.ts',
    ],
    typesIn: 'src/',
    why: 'streams are made and joined here; the rest is plain code',
  },
  { package: 'nanoid', rooms: ['src/'], why: 'ids and tokens' },
  { package: '@standard-schema/spec', rooms: ['src/'], why: 'types only: any validator will do' },
  { package: 'node:sqlite', rooms: ['src/stores/sqlite/'], why: 'a driver lives in its own adapter' },
  { package: '@redis/client', rooms: ['src/stores/redis/'], why: 'a driver lives in its own adapter' },
  { package: 'ioredis', rooms: ['src/stores/redis/'], why: 'a driver lives in its own adapter' },
  { package: 'pg', rooms: ['src/stores/postgres/'], why: 'a driver lives in its own adapter' },
  { package: 'node:*', rooms: ['src/'], why: 'the platform' },
]

/** The part of a path that a room's pattern covers (`src/stores/memory/` for `src/stores/*` + `/`), or null. */
function covered(room: string, path: string): string | null {
  const pattern = room.replaceAll('.', '\\.').replaceAll('*', '[^/]+')
  return new RegExp(`^${pattern}${room.endsWith('/') ? '' : '$'}`).exec(path)?.[0] ?? null
}

const isIn = (path: string, names: readonly string[]) => names.some((name) => covered(name, path) !== null)

function moduleViolation(file: SourceFile, target: string): string | null {
  const row = rooms.find(({ room }) => covered(room, file.path) !== null)
  if (row === undefined) return 'belongs to no room of the import table'
  const own = covered(row.room, file.path)
  if (own === null || target.startsWith(own) || isIn(target, row.may)) return null
  return `imports ${target}, but ${row.room}: ${row.why}`
}

function packageViolation(file: SourceFile, from: string, typeOnly: boolean): string | null {
  const named = (row: PackageRow) =>
    row.package.endsWith('*')
      ? from.startsWith(row.package.slice(0, -1))
      : from === row.package || from.startsWith(`${row.package}/`)
  const row = packages.find(named)
  if (row === undefined) return `imports ${from}, which the import table does not know`
  if (isIn(file.path, row.rooms) || (typeOnly && row.typesIn !== undefined && file.path.startsWith(row.typesIn)))
    return null
  return `imports ${from}: ${row.why}`
}

export function importViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const homeless = rooms.some(({ room }) => covered(room, file.path) !== null)
      ? []
      : [`${file.path} belongs to no room of the import table`]
    const wrong = file.imports.flatMap(({ from, line, typeOnly }) => {
      const relative = from.startsWith('.')
      const violation = relative
        ? moduleViolation(file, posix.join(posix.dirname(file.path), from))
        : packageViolation(file, from, typeOnly)
      return violation === null ? [] : [`${file.path}:${line} ${violation}`]
    })
    return homeless.length > 0 ? homeless : wrong
  })
}
