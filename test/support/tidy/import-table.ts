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

const contract = ['src/core/', 'src/store.ts']
/** What a user can import. */
const faces = ['src/index.ts', ...contract, 'src/stores/memory/']

export const rooms: readonly RoomRow[] = [
  { room: 'machines/', may: [], why: 'a chart is a description: it knows nothing of what runs it' },
  {
    room: 'src/core/',
    may: ['machines/'],
    why: 'what a job is, and what each operation does to it: pure and synchronous, written once',
  },
  { room: 'src/store.ts', may: ['src/core/'], why: 'the contract, without a store' },
  {
    room: 'src/stores/redis/',
    may: [...contract, 'src/stores/remote/'],
    why: 'an adapter of a server: the core runs over a round trip to it',
  },
  {
    room: 'src/stores/postgres/',
    may: [...contract, 'src/stores/remote/'],
    why: 'an adapter of a server: the core runs over a round trip to it',
  },
  {
    room: 'src/stores/*/',
    may: contract,
    why: 'an adapter keeps the contract alone: no client, no worker, no other adapter',
  },
  { room: 'src/client/', may: [...contract, 'machines/'], why: 'a client asks the contract, never a store' },
  { room: 'src/thread/', may: ['src/core/'], why: 'every thread loads it: no store, no worker, no XState' },
  {
    room: 'src/worker/',
    may: [...contract, 'machines/', 'src/client/', 'src/thread/messages.ts'],
    why: 'a worker runs what it claims, and tells it through the streams of its client',
  },
  { room: 'src/machine-job/', may: contract, why: 'a machine is run by what it is given for an attempt' },
  {
    room: 'src/open/',
    may: [...contract, 'src/stores/memory/', 'src/stores/*/index.ts'],
    why: 'finds the store of an address, and loads it when it is opened',
  },
  {
    room: 'src/api/',
    may: [
      ...contract,
      'machines/',
      'src/client/',
      'src/worker/',
      'src/machine-job/',
      'src/stores/memory/',
      'src/open/',
    ],
    why: 'what users hold, put together here',
  },
  {
    room: 'src/index.ts',
    may: [...contract, 'src/api/', 'src/machine-job/', 'src/stores/memory/'],
    why: 'the public names, listed one by one',
  },
  {
    room: 'src/otel/',
    may: ['src/core/'],
    why: 'implements what the core says of telemetry',
  },
  { room: 'src/testing/', may: [...faces, 'src/store-testing/'], why: 'built on what a user can import' },
  { room: 'src/store-testing/', may: faces, why: 'built on what an author of a store can import' },
  {
    room: 'src/dashboard/page/',
    may: [
      'src/index.ts',
      'src/dashboard/',
      'src/chart/count-badge.ts',
      'src/core/counted.ts',
      'src/core/own-value.ts',
      'src/core/time-words.ts',
    ],
    why: 'runs in a browser: it knows the JSON API, of the server its types, and how numbers are shown',
  },
  { room: 'src/dashboard/', may: [...faces, 'src/chart/', 'machines/'], why: 'built on what a user can import' },
  {
    room: 'src/cli/',
    may: [...faces, 'src/stores/*/index.ts', 'src/chart/', 'src/dashboard/'],
    why: 'built on what a user can import',
  },
  {
    room: 'src/chart/',
    may: [
      'machines/',
      'src/core/errors.ts',
      'src/core/checks.ts',
      'src/core/clock.ts',
      'src/core/counted.ts',
      'src/core/duration.ts',
      'src/core/time-words.ts',
      'src/core/event-words.ts',
      'src/core/node-version.ts',
    ],
    why: 'draws any machine, and knows nothing of jobs and stores',
  },
]

export const packages: readonly PackageRow[] = [
  {
    package: 'xstate',
    rooms: ['machines/', 'src/core/lifecycle.ts', 'src/machine-job/', 'src/chart/', 'src/api/worker-runtime.ts'],
    typesIn: 'src/',
    why: 'the hot path reads a compiled table; XState stays where charts are made, hosted or drawn',
  },
  {
    package: 'rxjs',
    rooms: [
      'src/client/',
      'src/worker/',
      'src/machine-job/',
      'src/api/',
      'src/dashboard/',
      'src/testing/',
      'src/store-testing/',
      'src/index.ts',
    ],
    typesIn: 'src/',
    why: 'streams are made and joined here; the rest is plain code',
  },
  { package: 'elkjs', rooms: ['src/chart/'], why: 'layout is loaded where something is drawn, and nowhere else' },
  { package: 'croner', rooms: ['src/core/cron.ts'], why: 'one file reads cron texts; the rest knows instants only' },
  { package: 'nanoid', rooms: ['src/'], why: 'ids and tokens' },
  { package: '@standard-schema/spec', rooms: ['src/'], why: 'types only: any validator will do' },
  { package: 'node:sqlite', rooms: ['src/stores/sqlite/'], why: 'a driver lives in its own adapter' },
  { package: '@redis/client', rooms: ['src/stores/redis/'], why: 'a driver lives in its own adapter' },
  { package: 'ioredis', rooms: ['src/stores/redis/'], why: 'a driver lives in its own adapter' },
  { package: 'pg', rooms: ['src/stores/postgres/'], why: 'a driver lives in its own adapter' },
  { package: '@opentelemetry/api', rooms: ['src/otel/'], why: 'nothing loads it but the entry for telemetry' },
  { package: 'hono', rooms: ['src/dashboard/'], why: 'HTTP is served by the dashboard alone' },
  { package: '@hono/node-server', rooms: ['src/dashboard/'], why: 'HTTP is served by the dashboard alone' },
  { package: 'commander', rooms: ['src/cli/'], why: 'arguments are parsed by the command line alone' },
  { package: 'preact', rooms: ['src/dashboard/page/'], why: 'built into the page: whoever installs jobchart does not' },
  { package: '@preact/signals', rooms: ['src/dashboard/page/'], why: 'built into the page, like preact' },
  { package: 'cronstrue', rooms: ['src/dashboard/page/'], why: 'built into the page: schedules in words' },
  { package: '#stores', rooms: ['src/open/store-at.ts'], why: 'package.json names the stores that a program can open' },
  { package: '@noble/hashes', rooms: ['src/core/platform.ts'], why: 'digests where there is no Node' },
  {
    package: 'node:*',
    rooms: [
      'src/stores/sqlite/',
      'src/stores/redis/',
      'src/stores/postgres/',
      'src/store-testing/',
      'src/thread/',
      'src/dashboard/',
      'src/cli/',
    ],
    typesIn: 'src/',
    why: 'the rest runs in browsers, too: it asks `core/platform.ts`',
  },
]

/** The part of a path that a room's pattern covers (`src/stores/memory/` for `src/stores/*` + `/`), or null. */
function covered(room: string, path: string): string | null {
  const pattern = room.replaceAll('.', '\\.').replaceAll('*', '[^/]+')
  return new RegExp(`^${pattern}${room.endsWith('/') ? '' : '$'}`).exec(path)?.[0] ?? null
}

/** The room of a file, as the table's rows name it: `client`, `stores/memory`. */
export function roomOf(path: string): string {
  const row = rooms.find(({ room }) => covered(room, path) !== null)
  const own = row === undefined ? null : covered(row.room, path)
  return (own ?? path).replace(/^src\//, '').replace(/\/$/, '')
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
