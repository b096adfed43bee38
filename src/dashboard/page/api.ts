/** Calls to the JSON API. Addresses are relative, so that the page works behind any prefix. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { segmentOf } from '../path-segment.ts'

export class ApiError extends Error {
  readonly code: string
  readonly hint: string | undefined

  constructor(code: string, message: string, hint?: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}

/** May the same call be answered a moment later? */
export const isPassing = (error: unknown): boolean =>
  error instanceof ApiError && ['UNREACHABLE', 'STORE_UNAVAILABLE', 'TIMEOUT'].includes(error.code)

async function answerOf(response: Response): Promise<unknown> {
  const type = response.headers.get('content-type') ?? ''
  // The API does not redirect, and has no pages: a sign-in before it does.
  if (response.type === 'opaqueredirect' || (response.ok && !/^(application\/json|image\/)/.test(type)))
    throw new ApiError(
      'NOT_THE_API',
      'The server answers with another page.',
      'Load this page anew: perhaps you have to sign in again.',
    )
  const text = await response.text()
  if (response.ok) return type.startsWith('image/') ? text : JSON.parse(text)
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string; hint?: string } }
    throw new ApiError(error.code, error.message, error.hint)
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError(`HTTP ${response.status}`, response.statusText || 'The server refused the request.')
  }
}

async function call(path: string, init: RequestInit): Promise<unknown> {
  let response: Response
  try {
    response = await fetch(`api/v1${path}`, { ...init, redirect: 'manual' })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError('UNREACHABLE', 'The server does not answer.', 'It is asked again every few seconds.')
  }
  return answerOf(response)
}

/** The path of a job. One whose id is `count` has an escape in it: that path counts jobs. */
export const jobPath = (id: string): string => `/jobs/${id === 'count' ? '%63ount' : segmentOf(id)}`

/** What a path of the API answers; `Answer` is what its documentation says. */
export const get = async <Answer>(path: string, signal?: AbortSignal): Promise<Answer> =>
  (await call(path, signal === undefined ? {} : { signal })) as Answer

export const post = async <Answer>(path: string, body: object = {}): Promise<Answer> =>
  (await call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })) as Answer

export interface Resource<Answer> {
  readonly data: Answer | null
  readonly error: ApiError | null
  /** Asks again; calls that come close together are one. */
  readonly refresh: () => void
}

/** Asks again every few seconds: for figures that change while nothing happens. */
export function useRepeated(refresh: () => void): void {
  const latest = useRef(refresh)
  latest.current = refresh
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current(), repeatMs)
    return () => clearInterval(timer)
  }, [])
}

const repeatMs = 10_000
/** A path is asked again so often at most, ms; and after twice the time that its last answer has taken. */
const refreshMsDefault = 800
/** What may be answered later is asked again after this, ms. */
export const againMs = 4_000

/** What a path answers: now, and after each `refresh`. What is there stays until the new answer is. */
export function useResource<Answer>(path: string | null, refreshMs = refreshMsDefault): Resource<Answer> {
  const [state, setState] = useState<{ path: string | null; data: Answer | null; error: ApiError | null }>({
    path,
    data: null,
    error: null,
  })
  const refresher = useRef<() => void>(() => {})
  useEffect(() => {
    if (path === null) return
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | null = null
    let isBusy = false
    let isWanted = false
    let lastAt = 0
    let pauseMs = refreshMs
    const later = (ms: number): void => {
      timer ??= setTimeout(() => {
        timer = null
        void load()
      }, ms)
    }
    const load = async (): Promise<void> => {
      isBusy = true
      isWanted = false
      lastAt = performance.now()
      try {
        const data = await get<Answer>(path, controller.signal)
        if (!controller.signal.aborted) setState({ path, data, error: null })
      } catch (error) {
        if (controller.signal.aborted) return
        const shown = error instanceof ApiError ? error : new ApiError('BROKEN', String(error))
        setState((before) => ({ path, data: before.path === path ? before.data : null, error: shown }))
        if (isPassing(shown)) later(againMs)
      } finally {
        isBusy = false
        pauseMs = Math.max(refreshMs, 2 * (performance.now() - lastAt))
      }
      if (isWanted) later(pauseMs)
    }
    refresher.current = () => {
      if (isBusy) isWanted = true
      else later(Math.max(0, Math.min(pauseMs, lastAt + pauseMs - performance.now())))
    }
    void load()
    return () => {
      controller.abort()
      if (timer !== null) clearTimeout(timer)
    }
  }, [path, refreshMs])
  const isCurrent = state.path === path
  return {
    data: isCurrent ? state.data : null,
    error: isCurrent ? state.error : null,
    refresh: () => refresher.current(),
  }
}
