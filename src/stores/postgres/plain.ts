/**
 * Writes of plain jobs, by functions of the server: see `migrations/0003-plain-jobs.ts`. What the server does not
 * judge, it refuses, and the core decides.
 */
import type { Json } from '../../core/payload.ts'
import type { Settlement } from '../../core/settlement.ts'
import { RenewedMap } from '../../core/renewed-map.ts'
import type {
  ClaimedJob,
  ClaimRequest,
  HeartbeatPayload,
  Hint,
  InsertAnswer,
  InsertRequest,
  SettleAnswer,
  Shortfall,
} from '../../store.ts'
import {
  attemptsAfterClaim,
  isPlainEnd,
  isPlainHeartbeat,
  isPlainJob,
  plainClaimed,
  plainDocument,
  plainEntries,
  plainInserted,
  plainMoves,
  plainRemoval,
  plainSettled,
  plainTermsOf,
  type PlainClaim,
  type PlainStanding,
  type PlainTerms,
  type PlainWrite,
  type PlainWrites,
} from '../remote/plain.ts'
import { countedClaims } from '../remote/claim.ts'
import type { JobDocument } from '../remote/document.ts'
import type { EndedFacts } from '../remote/ended.ts'
import { headColumns, type Param, type ResultRow } from './connection.ts'
import { plainMoveParams, plainMoveText } from './figures.ts'
import { endsMax } from './migrations/0003-plain-jobs.ts'
import type { OpenSchema } from './open.ts'
import { jobTerms } from './terms.ts'
import { columnText, listText, textOfColumn } from './texts.ts'
import { PlainExchange } from './exchange.ts'

/** What this process knows of a plain job that it has claimed. */
interface Claimed {
  readonly claim: Claim
  readonly job: number
  readonly type: string
  /** Its place in the claim, from 1. */
  readonly turn: number
  /** The last job of its type in the claim. */
  readonly upto: number
  /** How many attempts it has, if not as many as its enqueue has told. */
  readonly maxAttempts: number | null
}

/** A claim that it has made. */
interface Claim {
  readonly number: number
  readonly token: string
  readonly worker: string
  readonly at: number
}

/** How many jobs of a type were leased after a move of the figures. */
interface Leased {
  readonly move: number
  readonly count: number
}

/** So many are known at most: those of which nothing was heard for long are forgotten. */
const claimedMax = 10_000

/** So much output is kept in one row: who reads that of a job reads all of it. */
const outputCharsMax = 2_000

export class PostgresPlainWrites implements PlainWrites {
  readonly countsLeased = true
  private readonly store: OpenSchema
  private readonly setAside: (ids: readonly string[]) => Promise<void>
  private readonly claimed = new RenewedMap<string, Claimed>()
  /** Of types with a cap, as the last claim has told: the server counts from there on. */
  private readonly leased = new Map<string, Leased>()
  private readonly exchange = new PlainExchange((columns, values) => this.call('exchange', columns, values))

  /** @param setAside sets jobs aside that cannot be read */
  constructor(store: OpenSchema, setAside: (ids: readonly string[]) => Promise<void>) {
    this.store = store
    this.setAside = setAside
  }

  /** Something else was written of a job, or may have been. */
  forget(id: string): void {
    this.claimed.delete(id)
  }

  /** The server may have been set back. */
  forgetAll(): void {
    this.claimed.clear()
    this.leased.clear()
  }

  /** @param columns what the function returns, beside `unfolded`. @returns these: the numbers first of what it wrote */
  private async call(name: string, columns: string, values: readonly Param[]): Promise<ResultRow> {
    const { schema, transitionsMax, opened } = this.store
    const { lane, time, epoch, figures } = opened()
    const all = [transitionsMax, ...values]
    const list = all.map((_, i) => `$${i + 1}`).join(', ')
    const text = `SELECT ${headColumns(schema)}, unfolded::float8, ${columns} FROM ${schema}.${name}(${list})`
    const [unfolded, ...row] = await time.learn(() => lane.query(text, all, `jobchart ${name}`))
    for (const number of row.slice(0, 2)) if (typeof number === 'number') epoch.see(number)
    if (unfolded !== null) await figures.foldIfMany(unfolded as number)
    return row
  }

  async insert(requests: readonly InsertRequest[]): Promise<PlainWrite<InsertAnswer[][]> | null> {
    const jobs = requests.flatMap((request) => request.jobs)
    const rooms = roomsOf(requests)
    if (rooms === null || jobs.length === 0 || !jobs.every(isPlainJob)) return null
    if (new Set(jobs.map(({ id }) => id)).size < jobs.length) return null
    const docs = textsOf(jobs, (job) => JSON.stringify(plainTermsOf(job)))
    if (docs === null) return null
    const terms = jobs.map(jobTerms)
    const now = this.store.now()
    const types = jobs.map(({ type }) => type)
    const hints = [...new Set(types)].map((type): Hint => ({ kind: 'ready', type }))
    const answered = this.call('insert_plain', 'base::float8', [
      now,
      jobs.map(({ id }) => id).join('\n'),
      ...runsOf(types),
      docs.join('\n'),
      terms.some(({ length }) => length > 0) ? terms.map((each) => (each.length === 0 ? null : listText(each))) : [],
      [...rooms.keys()].map((type) => type && columnText(type)),
      [...rooms.values()],
      plainEntries.enqueue(now),
      ...plainMoveParams(plainMoves.enqueue, types),
    ])
    const { hints: others, lane } = this.store.opened()
    others.tellBehind(hints, lane)
    const [base] = (await answered) as [number | null]
    if (base === null) return null
    let seq = base
    return {
      answer: requests.map((request) => request.jobs.map(({ id }) => plainInserted(id, seq++, now))),
      hints,
    }
  }

  async claim(request: ClaimRequest): Promise<PlainWrite<PlainClaim>> {
    const { demand, token, worker, leaseMs } = request
    const now = this.exchange.ends?.now ?? this.store.now()
    const wakeAt = now + leaseMs
    const attempts = new Map(demand.map(({ type, maxAttempts }) => [type, maxAttempts ?? null]))
    const caps = demand.map(({ limits }) => limits.concurrency)
    const counted = demand.map(({ type }) => this.leased.get(type))
    const [base, number, others, capped, seen, leased, ids, types, firsts, numbers, times, docs] =
      await this.exchange.claim({
        now,
        values: [
          demand.map(({ type }) => type),
          demand.map(({ max }) => max),
          caps.every((cap) => cap === null) ? null : caps,
          counted.map((each) => each?.move ?? null),
          counted.map((each) => each?.count ?? null),
          countedClaims,
          columnText(token),
          columnText(worker),
          wakeAt,
          JSON.stringify(Object.fromEntries(attempts)),
          plainEntries.claim(now, worker),
        ],
      })
    for (const [i, { type }] of demand.entries()) {
      if (caps[i] !== null && seen !== null) this.leased.set(type, { move: seen, count: Number(leased?.[i]) })
    }
    const claim: Claim = { number, token, worker, at: now }
    const names = linesOf(ids)
    const typeOf = (types ?? []).flatMap((type, i) =>
      Array.from<string>({ length: (firsts?.[i + 1] ?? names.length + 1) - (firsts?.[i] ?? 1) }).fill(type),
    )
    const [seqs, enqueued] = [numbersOf(numbers), numbersOf(times)]
    const taken = new Map<string, number>()
    const uptos = new Map(typeOf.map((type, i) => [type, seqs[i] ?? 0]))
    const unreadable: string[] = []
    const jobs = linesOf(docs).flatMap((doc, i): ClaimedJob | [] => {
      const [id = '', type = '', job = 0, enqueuedAt = 0] = [names[i], typeOf[i], seqs[i], enqueued[i]]
      const terms = termsOf(doc)
      if (terms === null) {
        unreadable.push(id)
        return []
      }
      const start = { seq: (base ?? 0) + i, at: now, worker, token, maxAttempts: attempts.get(type) ?? null, wakeAt }
      const maxAttempts = attemptsAfterClaim(terms, start.maxAttempts)
      const differs = maxAttempts !== terms.maxAttempts
      const upto = uptos.get(type) ?? job
      const known = { claim, job, type, turn: i + 1, upto, maxAttempts: differs ? maxAttempts : null }
      this.claimed.keep(id, known, claimedMax)
      taken.set(type, (taken.get(type) ?? 0) + 1)
      return plainClaimed(terms, { id, type, seq: job, enqueuedAt, rev: 2, start, end: null }, start)
    })
    // If that fails, whoever meets them next does it: the others were claimed.
    if (unreadable.length > 0) await this.setAside(unreadable).catch(() => {})
    const [left, full] = [new Set(others), new Set(capped)]
    const fewer = demand.filter(({ type, max }) => (taken.get(type) ?? 0) < max)
    return {
      answer: {
        jobs,
        shortfalls: fewer.flatMap(({ type }): Shortfall | [] => {
          if (full.has(type)) return { type, reason: 'capped' }
          return left.has(type) ? [] : { type, reason: 'empty' }
        }),
        others: fewer.flatMap((each) =>
          left.has(each.type) && !full.has(each.type) ? { ...each, max: each.max - (taken.get(each.type) ?? 0) } : [],
        ),
      },
      hints: jobs.length === 0 ? [] : roomHints(taken.keys()),
    }
  }

  mayComplete(settlement: Settlement): boolean {
    return isPlainEnd(settlement) && this.claimed.get(settlement.id)?.claim.token === settlement.token
  }

  async complete(settlements: readonly Settlement[]): Promise<PlainWrite<SettleAnswer[]> | null> {
    const now = this.store.now()
    const ends = settlements.flatMap((settlement, i) => {
      const claimed = this.claimed.get(settlement.id)
      this.claimed.delete(settlement.id)
      return claimed === undefined ? [] : [{ claimed, i, settlement }]
    })
    ends.sort((a, b) => a.claimed.claim.number - b.claimed.claim.number || a.claimed.turn - b.claimed.turn)
    const claims = [...new Set(ends.map(({ claimed }) => claimed.claim))]
    const [worker, ...others] = new Set(claims.map((claim) => claim.worker))
    const outputs = textsOf(ends, ({ settlement: { output } }) => (output === undefined ? '' : JSON.stringify(output)))
    if (ends.length < settlements.length || others.length > 0 || worker === undefined || outputs === null) return null
    const parts = endsOf(
      ends.map(({ claimed }) => claimed),
      outputs,
    )
    const types = ends.map(({ claimed }) => claimed.type)
    const [, , moves, activity] = plainMoveParams(
      plainMoves.complete,
      types,
      ends.map(({ claimed }) => now - claimed.claim.at),
    )
    const base = await this.exchange.end({
      now,
      values: [
        claims.map(({ number }) => number),
        claims.map(({ token }) => columnText(token)),
        parts.map(({ claimed }) => claimed.claim.number),
        parts.map(({ claimed }) => claimed.type),
        parts.map(({ claimed }) => claimed.upto),
        parts.map(({ claimed }) => claimed.maxAttempts),
        parts.map(({ first }) => first),
        `{${ends.map(({ claimed }) => claimed.turn).join(',')}}`,
        ends.map(({ settlement }) => settlement.id).join('\n'),
        outputs.some((output) => output !== '') ? outputs.join('\n') : '',
        plainEntries.complete(now, worker),
        moves,
        activity,
      ],
    })
    if (base === null) return null
    const answer: SettleAnswer[] = []
    for (const [n, { i }] of ends.entries()) answer[i] = plainSettled(base + n, now)
    const ended = new Set(types)
    return {
      answer,
      hints: [
        ...[...ended].map((type): Hint => ({ kind: 'ready', type })),
        ...roomHints(ended),
        { kind: 'ended', ids: settlements.map(({ id }) => id) },
      ],
    }
  }

  async remove(jobs: readonly EndedFacts[]): Promise<ReadonlySet<EndedFacts>> {
    if (jobs.length === 0) return new Set()
    const row = await this.call('remove_plain', 'removed', [
      this.store.now(),
      jobs.map(({ type }) => columnText(type)),
      jobs.map(({ seq }) => seq),
      jobs.map(({ lastSeq }) => lastSeq),
      plainMoveText(plainRemoval),
    ])
    const removed = new Set((row[0] as string | null)?.split(' ').map(Number))
    return new Set(jobs.filter(({ seq }) => removed.has(seq)))
  }

  async extend(heartbeats: readonly HeartbeatPayload[], leaseMs: number): Promise<ReadonlySet<HeartbeatPayload>> {
    const plain = heartbeats.flatMap((heartbeat) => {
      const claimed = this.claimed.get(heartbeat.id)
      return claimed?.claim.token === heartbeat.token && isPlainHeartbeat(heartbeat) ? [{ ...claimed, heartbeat }] : []
    })
    if (plain.length === 0) return new Set()
    const claims = [...new Set(plain.map(({ claim }) => claim))]
    const { schema, opened, now } = this.store
    const { lane, time } = opened()
    const text = `SELECT ${headColumns(schema)}, ${schema}.extend_plain($1, $2, $3, $4)::text[]`
    const values = [
      claims.map(({ number }) => number),
      claims.map(({ token }) => columnText(token)),
      plain.map(({ job }) => job),
      now() + leaseMs,
    ]
    const [extended] = await time.learn(() => lane.query(text, values, 'jobchart extend_plain'))
    const jobs = new Set((extended as string[] | null)?.map(Number))
    return new Set(plain.flatMap(({ job, heartbeat }) => (jobs.has(job) ? heartbeat : [])))
  }
}

/** Jobs that complete together, of a type and a claim. */
interface EndsPart {
  /** One of them. */
  readonly claimed: Claimed
  /** With which job of the call it begins, from 1. */
  readonly first: number
  chars: number
}

/** @param ends in the order of their claims, and of their places in these */
function endsOf(ends: readonly Claimed[], outputs: readonly string[]): readonly EndsPart[] {
  const parts: EndsPart[] = []
  for (const [i, claimed] of ends.entries()) {
    const [last, chars] = [parts.at(-1), outputs[i]?.length ?? 0]
    const { claim, type, maxAttempts } = last?.claimed ?? {}
    const isSame = claim === claimed.claim && type === claimed.type && maxAttempts === claimed.maxAttempts
    if (last !== undefined && isSame && last.chars + chars <= outputCharsMax && i % endsMax > 0) last.chars += chars
    else parts.push({ claimed, first: i + 1, chars })
  }
  return parts
}

/** The types of jobs, each once for those that follow each other, and with which job each begins, from 1. */
function runsOf(types: readonly string[]): [types: string[], firsts: number[]] {
  const firsts = types.flatMap((type, i) => (i > 0 && type === types[i - 1] ? [] : i + 1))
  return [firsts.map((first) => types[first - 1] ?? ''), firsts]
}

/** A text for each; null if one of them cannot be read: the core says which one. */
function textsOf<I>(items: readonly I[], textOf: (item: I) => string): string[] | null {
  try {
    return items.map(textOf)
  } catch {
    return null
  }
}

/** Null if it cannot be read. */
function termsOf(doc: string): PlainTerms | null {
  try {
    const terms = JSON.parse(doc) as PlainTerms | null
    return typeof terms?.maxAttempts === 'number' ? terms : null
  } catch {
    return null
  }
}

/** Numbers that a function has joined. */
const numbersOf = (text: string | null | undefined): number[] => (text ?? '').split(' ').map(Number)

const linesOf = (text: string | null | undefined): string[] =>
  text === null || text === undefined ? [] : text.split('\n')

const roomHints = (types: Iterable<string>): Hint[] => [
  { kind: 'room' },
  ...[...types].map((type): Hint => ({ kind: 'room', type })),
]

/** The backlog before the call that each limit leaves room for; null if jobs are handed over. */
function roomsOf(requests: readonly InsertRequest[]): Map<string | null, number> | null {
  const rooms = new Map<string | null, number>()
  const counts = new Map<string | null, number>()
  for (const { jobs, capacity, queue } of requests) {
    if (queue?.capacity === 0) return null
    for (const { type } of jobs) for (const each of [null, type]) counts.set(each, (counts.get(each) ?? 0) + 1)
    const limits = [[null, capacity] as const, ...(queue === undefined ? [] : [[queue.type, queue.capacity] as const])]
    for (const [type, limit] of limits) {
      if (limit === null) continue
      rooms.set(type, Math.min(rooms.get(type) ?? Infinity, limit - (counts.get(type) ?? 0)))
    }
  }
  return rooms
}

/** As the view `standing` has it: texts are as in columns, and the output is JSON. */
interface Facts extends Omit<PlainStanding, 'end'> {
  readonly end: { readonly seq: number; readonly at: number; readonly output: string | null } | null
}

/** The document of a plain job. @param facts see the view `standing` */
export function plainDocumentFrom(doc: string, facts: string): JobDocument {
  const terms = termsOf(doc)
  if (terms === null) throw new SyntaxError('the document of a plain job cannot be read')
  const { start, end, ...standing } = JSON.parse(facts) as Facts
  return plainDocument(terms, {
    ...standing,
    start: start && { ...start, worker: textOfColumn(start.worker), token: textOfColumn(start.token) },
    end: end && {
      seq: end.seq,
      at: end.at,
      ...(end.output !== null && { output: JSON.parse(end.output) as Json }),
    },
  })
}
