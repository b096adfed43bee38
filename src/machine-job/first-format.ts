/**
 * Converts checkpoints of the first format to the second. The first format named actors by their paths alone (`kid/work`) and
 * counted the starts of each path. Actors keep their idempotency keys.
 */
import type { Json } from '../core/payload.ts'
import type { StartCounts } from './addresses.ts'

type JsonObject = { readonly [key: string]: Json }

/** The state in the second format; the same object if it has that format. */
export function fromFirstFormat(json: Json): Json {
  if (!isObject(json) || json['format'] === 2 || !isObject(json['beginnings'])) return json
  const { beginnings, snapshot, timers, outbox, ...rest } = json
  const counts = beginnings as Readonly<Record<string, number>>
  const addressOf = (path: string): string => addressIn(path, counts)
  const starts: Record<string, { floor: number; counts: Record<string, number> }> = {}
  const keys: Record<string, string> = {}
  for (const [path, count] of Object.entries(counts)) {
    const cut = path.lastIndexOf('/')
    const parent = addressOf(path.slice(0, Math.max(0, cut)))
    const startsOfParent = (starts[parent] ??= { floor: 0, counts: {} })
    startsOfParent.counts[path.slice(cut + 1)] = count
    if (cut >= 0) keys[addressOf(path)] = `${path}/${count}`
  }
  return {
    ...rest,
    format: 2,
    snapshot: withReferences(snapshot as Json, '', addressOf),
    timers: list(timers).map((timer) => ({
      ...timer,
      source: addressOf(text(timer['source'])),
      target: addressOf(text(timer['target'])),
    })),
    outbox: list(outbox).map((entry) => withMarks(withAddress(entry, addressOf), addressOf)),
    actors: { starts: starts satisfies Record<string, StartCounts>, keys },
  }
}

const isObject = (json: Json | undefined): json is { [key: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json)

const text = (json: Json | undefined): string => (typeof json === 'string' ? json : '')

const list = (json: Json | undefined): JsonObject[] => (Array.isArray(json) ? json.filter(isObject) : [])

function addressIn(path: string, counts: Readonly<Record<string, number>>): string {
  if (path === '') return ''
  const names = path.split('/')
  return names.map((name, i) => `${name}/${counts[names.slice(0, i + 1).join('/')] ?? 1}`).join('/')
}

const withAddress = (entry: JsonObject, addressOf: (path: string) => string): { [key: string]: Json } => ({
  ...entry,
  ...(typeof entry['actor'] === 'string' && { actor: addressOf(entry['actor']) }),
})

/** Converts the actor references of an outbox entry, which the first format wrote as paths. */
function withMarks(json: Json, addressOf: (path: string) => string): Json {
  if (Array.isArray(json)) return json.map((member) => withMarks(member, addressOf))
  if (!isObject(json)) return json
  const path = json['jobchart$actor']
  if (typeof path === 'string') return { jobchart$actor: addressOf(path) }
  return Object.fromEntries(Object.entries(json).map(([key, member]) => [key, withMarks(member, addressOf)]))
}

/** Converts the actor references of contexts, which the first format wrote as XState does: by the ids of own children. */
function withReferences(snapshot: Json, path: string, addressOf: (path: string) => string): Json {
  if (!isObject(snapshot) || !('historyValue' in snapshot)) return snapshot
  const below = (id: string): string =>
    `${path}${path === '' ? '' : '/'}${id.replaceAll('%', '%25').replaceAll('/', '%2F')}`
  const marked = (json: Json): Json => {
    if (Array.isArray(json)) return json.map(marked)
    if (!isObject(json)) return json
    const { xstate$$type: type, id } = json
    if (type === 1 && typeof id === 'string') return { jobchart$actor: addressOf(below(id)) }
    return Object.fromEntries(Object.entries(json).map(([key, member]) => [key, marked(member)]))
  }
  const children = Object.entries(isObject(snapshot['children']) ? snapshot['children'] : {}).map(
    ([id, child]): [string, Json] => [
      id,
      isObject(child) ? { ...child, snapshot: withReferences(child['snapshot'] ?? null, below(id), addressOf) } : child,
    ],
  )
  return {
    ...snapshot,
    ...('context' in snapshot && { context: marked(snapshot['context']) }),
    children: Object.fromEntries(children),
  }
}
