/**
 * The scope: a member of meta in the address of every screen, to which lists of jobs, changes of all that match and the
 * counts below it are limited.
 */
import type { JSX } from 'preact'
import { metaMember, metaText } from '../meta-member.ts'
import { useRepeated, useResource } from './api.ts'
import { go, link, place, scope } from './router.ts'
import { number } from './words.ts'

/** `tenant:acme` as a filter by meta: `tenant=acme`. Null for what is none. */
export function scopeMeta(): string | null {
  const [, name, value] = /^([^:]+):(.+)$/.exec(scope.value ?? '') ?? []
  return name === undefined || value === undefined ? null : `${name}=${value}`
}

/** A member as a scope. */
const scopeOf = (meta: string): string | null => {
  const member = metaMember(meta)
  if (member === null) return null
  const text = metaText(...member)
  const at = text.indexOf('=')
  return `${text.slice(0, at)}:${text.slice(at + 1)}`
}

/** The address of the same screen within a scope; without one for null. */
function addressIn(next: string | null): string {
  const { screen, name, query } = place.value
  const all = Object.fromEntries([...query.keys()].map((key) => [key, query.getAll(key)]))
  return link(screen, name, { ...all, scope: next })
}

/** In the navigation: what everything is limited to. */
export function Scope(): JSX.Element | null {
  if (scope.value === null) return null
  return (
    <p class="scope">
      <span title="jobs are listed, changed and counted within it">{scope.value}</span>
      <button type="button" class="quiet" aria-label="Leave the scope" onClick={() => go(addressIn(null))}>
        ×
      </button>
    </p>
  )
}

/** Beside a filter by meta: makes it the scope of all screens. */
export function KeepAsScope(): JSX.Element | null {
  const { query } = place.value
  const [meta] = query.getAll('meta')
  const next = meta === undefined ? null : scopeOf(meta)
  if (next === null || next === scope.value) return null
  return (
    <button type="button" class="quiet" onClick={() => go(link('jobs', '', { scope: next }))}>
      see {next} alone
    </button>
  )
}

const shown = ['queued', 'running', 'retrying', 'waiting', 'dead'] as const

/** How many jobs of the scope are in the states that ask for something. */
export function ScopeFigures(): JSX.Element | null {
  const meta = scopeMeta()
  return meta === null ? null : (
    <section class="panel" aria-label={`Jobs of ${scope.value}`}>
      <header>
        <h2>{scope.value}</h2>
        <span class="muted">the figures below are of all jobs</span>
      </header>
      <div class="scope-figures">
        {shown.map((state) => (
          <Count key={`${meta} ${state}`} meta={meta} state={state} />
        ))}
      </div>
    </section>
  )
}

function Count({ meta, state }: { readonly meta: string; readonly state: string }): JSX.Element {
  const count = useResource<{ readonly count: number; readonly more: boolean }>(
    `/jobs/count?${new URLSearchParams({ meta, state })}`,
  )
  useRepeated(count.refresh)
  const { data, error } = count
  return (
    <a href={link('jobs', '', { state })}>
      <b>{data === null ? (error === null ? '…' : '?') : `${number(data.count)}${data.more ? '+' : ''}`}</b>{' '}
      <span class="muted">
        <i class={`dot tone-${state}`} /> {state}
      </span>
    </a>
  )
}
