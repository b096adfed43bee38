/**
 * Bulk operations: those that run are shown on every screen with their progress, to every user and also after a reload;
 * the list of jobs shows the last ones that have ended.
 */
import { computed, signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { ShownOperation } from '../bulk.ts'
import { about } from './about.ts'
import { ApiError, get, post } from './api.ts'
import { change } from './dialog.tsx'
import { Panel, Time } from './parts.tsx'
import { date, now, number } from './words.ts'

const verbs = { retry: 'Retry', cancel: 'Cancel', discard: 'Discard' } as const

/** The latest first. */
const operations = signal<readonly ShownOperation[]>([])

/** How often operations are asked for: while one runs, and otherwise. */
const runningMs = 500
const restingMs = 10_000
/** How long one that has ended stays on every screen. */
const afterEndMs = 60_000
const endedMax = 10

let timer: ReturnType<typeof setTimeout> | undefined

async function load(): Promise<void> {
  clearTimeout(timer)
  try {
    if (!document.hidden) operations.value = (await get<{ operations: ShownOperation[] }>('/bulk')).operations
  } catch (error) {
    // The page says elsewhere that the server or the store does not answer.
    if (!(error instanceof ApiError)) throw error
  }
  clearTimeout(timer)
  const isRunning = operations.value.some(({ state }) => state === 'running')
  timer = setTimeout(() => void load(), isRunning ? runningMs : restingMs)
}

export function startBulk(): void {
  document.addEventListener('visibilitychange', () => document.hidden || void load())
  void load()
}

/** Changes all jobs that match a filter. @returns what to say */
export async function changeAll(kind: ShownOperation['kind'], body: object): Promise<string> {
  const { operation } = await post<{ operation: ShownOperation }>(`/jobs/${kind}`, body)
  await load()
  if (operation.state !== 'running') return `${countsText(operation)}.`
  return `${verbs[kind]} has begun. It goes on when this page is closed.`
}

/** `300 retried, 2 refused`. */
function countsText({ counts, state }: Pick<ShownOperation, 'counts' | 'state'>): string {
  const entries = Object.entries(counts)
  if (entries.length === 0) return state === 'running' ? 'no job yet' : 'No job matched'
  return entries.map(([name, count]) => `${number(count)} ${name}`).join(', ')
}

const none: readonly ShownOperation[] = []

/** Those that run or have just ended. */
const current = computed(() => {
  if (operations.value.length === 0) return none
  return operations.value.filter(({ state, endedAt }) => state === 'running' || now.value - (endedAt ?? 0) < afterEndMs)
})

/** On every screen. */
export function BulkOperations(): JSX.Element | null {
  if (current.value.length === 0) return null
  return (
    <section class="panel operations" aria-label="Changes of many jobs">
      {current.value.map((operation) => (
        <Operation key={operation.id} of={operation} />
      ))}
    </section>
  )
}

export function EndedOperations(): JSX.Element | null {
  const ended = operations.value.filter((operation) => !current.value.includes(operation)).slice(0, endedMax)
  if (ended.length === 0) return null
  return (
    <Panel title="Changes of many jobs before">
      <div class="operations">
        {ended.map((operation) => (
          <Operation key={operation.id} of={operation} />
        ))}
      </div>
    </Panel>
  )
}

function Operation({ of }: { readonly of: ShownOperation }): JSX.Element {
  const { id, kind, filter, state, expected, requestedAt, endedAt, error, counts } = of
  const done = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const stop = (): void =>
    void change(async () => {
      await post(`/bulk/${encodeURIComponent(id)}/stop`)
      await load()
      return `${verbs[kind]} was stopped.`
    })
  return (
    <div class="operation">
      <p>
        <strong>{verbs[kind]}</strong> <span class="muted">{filterText(filter)}</span>
      </p>
      {state === 'running' ? (
        <progress
          aria-label={`${verbs[kind]} of ${filterText(filter)}`}
          {...(expected !== null && { max: Math.max(expected, done, 1), value: done })}
        />
      ) : (
        <span class="muted">
          {state} <Time at={endedAt} />
        </span>
      )}
      <span>
        {countsText(of)}
        {expected !== null && <span class="muted"> of {number(expected)}</span>}
        {error !== null && <span class="problem">{error.message}</span>}
      </span>
      {state === 'running' ? (
        about.value.role === 'admin' && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )
      ) : (
        <span class="muted">
          begun <Time at={requestedAt} />
        </span>
      )}
    </div>
  )
}

/** `type email.send, state dead`. The fingerprint of a failure says nothing to a reader. */
const filterText = (filter: ShownOperation['filter']): string =>
  Object.entries(filter)
    .map(([name, value]) =>
      name === 'failure' ? 'one group of failures' : `${wordOf[name] ?? name} ${valueText(name, value)}`,
    )
    .join(', ')

const wordOf: Readonly<Record<string, string>> = {
  machineState: 'in',
  concurrencyKey: 'concurrency key',
  enqueuedAfter: 'enqueued after',
  enqueuedBefore: 'enqueued before',
  finishedAfter: 'ended after',
  finishedBefore: 'ended before',
}

function valueText(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.join(' ')
  if (typeof value === 'number' && /After$|Before$/.test(name)) return date(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
