/** Where the page is: behind the `#`, so that one address serves all screens under any prefix. */
import { computed, signal } from '@preact/signals'

const hash = signal(location.hash)
addEventListener('hashchange', () => (hash.value = location.hash))

interface Place {
  /** `jobs`, `job`, …; empty for the overview. */
  readonly screen: string
  /** What follows: the id of a job, the type of a queue. */
  readonly name: string
  readonly query: URLSearchParams
}

export const place = computed<Place>(() => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?', 2)
  const [screen = '', ...rest] = path.split('/')
  return { screen, name: safelyDecoded(rest.join('/')), query: new URLSearchParams(query) }
})

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

type Query = Readonly<Record<string, string | readonly string[] | null | undefined>>

/** The member of meta that lists and searches are limited to, as it stands in the address: `tenant:acme`. */
export const scope = computed<string | null>(() => place.value.query.get('scope'))

/** An address within the page. It keeps the scope, unless it names another one or none (null). */
export function link(screen: string, name = '', query: Query = {}): string {
  const params = new URLSearchParams()
  for (const [key, value] of Object.entries({ scope: scope.value, ...query })) {
    for (const each of [value ?? []].flat()) if (each !== '') params.append(key, each)
  }
  const text = params.toString()
  return `#/${screen}${name === '' ? '' : `/${encodeURIComponent(name)}`}${text === '' ? '' : `?${text}`}`
}

export const jobLink = (id: string): string => link('job', id)

export const go = (address: string): void => void (location.hash = address)

/** Changes the address without a step in the history: for filters. */
export function replace(address: string): void {
  history.replaceState(null, '', address)
  hash.value = location.hash
}

/**
 * Takes the token out of the address, before anything is asked for: the cookie that came with the page takes its place.
 */
export function dropToken(): void {
  const { pathname, search, hash } = location
  const path = pathname.replace(/\/token=[^/]*(?=\/)/, '')
  const query = new URLSearchParams(search)
  query.delete('token')
  const rest = query.size === 0 ? '' : `?${query.toString()}`
  if (path !== pathname || rest !== search) history.replaceState(null, '', `${path}${rest}${hash}`)
}
