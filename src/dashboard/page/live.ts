/**
 * The live stream: counts, and what happens to jobs. Closed while the page is hidden, and caught up when it is back.
 */
import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { StateCounts } from '../../index.ts'
import type { LiveCounts, LiveTransition } from '../live-messages.ts'

type Connection = 'connecting' | 'live' | 'lost'

export const connection = signal<Connection>('connecting')
/** Why the store does not answer, if so. */
export const storeProblem = signal<string | null>(null)
export const counts = signal<LiveCounts | null>(null)
/** The types of `counts`, in their order, as JSON: it is told only of another list. */
const typesText = computed(() => JSON.stringify(Object.keys(counts.value?.types ?? {}).toSorted()))
export const types = computed(() => JSON.parse(typesText.value) as readonly string[])
/** What the server's clock is ahead of this one, ms. */
export const ahead = signal(0)

/** The counts over all types. */
export const stateCounts = (all: LiveCounts): StateCounts => all

interface Listener {
  readonly onTransitions?: (transitions: readonly LiveTransition[]) => void
  /** Something is missing: load anew. */
  readonly onReset?: () => void
  readonly onJob?: () => void
}

const listeners = new Set<Listener>()
let source: EventSource | null = null
let cursor: string | null = null
let watched: string | null = null

function open(): void {
  close()
  const query = new URLSearchParams()
  if (cursor !== null) query.set('from', cursor)
  if (watched !== null) query.set('job', watched)
  const opened = new EventSource(`api/v1/events?${query}`)
  source = opened
  const on = (name: string, take: (data: unknown) => void): void => {
    opened.addEventListener(name, (event: MessageEvent<string>) => {
      if (event.lastEventId !== '') cursor = event.lastEventId
      take(JSON.parse(event.data))
    })
  }
  opened.addEventListener('open', () => {
    if (connection.value === 'lost') for (const { onReset } of listeners) onReset?.()
    connection.value = 'live'
  })
  opened.addEventListener('error', () => {
    connection.value = 'lost'
    // A browser does not come back by itself when it was refused.
    if (opened.readyState === EventSource.CLOSED && source === opened)
      setTimeout(() => source === opened && open(), 3_000)
  })
  on('hello', (data) => (ahead.value = (data as { now: number }).now - Date.now()))
  on('counts', (data) => {
    const told = data as LiveCounts
    counts.value = told.whole ? told : { ...told, types: { ...counts.value?.types, ...told.types } }
  })
  on('transitions', (data) => {
    for (const { onTransitions } of listeners) onTransitions?.(data as LiveTransition[])
  })
  on('reset', () => {
    for (const { onReset } of listeners) onReset?.()
  })
  on('job', () => {
    for (const { onJob } of listeners) onJob?.()
  })
  on('store', (data) => {
    const { ok, message } = data as { ok: boolean; message?: string }
    storeProblem.value = ok ? null : (message ?? 'The store does not answer.')
  })
}

function close(): void {
  source?.close()
  source = null
}

export function startLive(): void {
  open()
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()))
  // A page that is kept for the way back must not keep its stream.
  addEventListener('pagehide', close)
  addEventListener('pageshow', (event) => event.persisted && open())
}

/** Also says when the check-ins and logs of this job change. */
export function useWatchedJob(id: string): void {
  useEffect(() => {
    watched = id
    open()
    return () => {
      watched = null
      open()
    }
  }, [id])
}

export function useLive(listener: Listener): void {
  useEffect(() => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  })
}
