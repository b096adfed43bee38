/** One search for the page: what `redact` hides is not found. */
import type { FindHit, FindOptions, FindResult } from '../index.ts'
import { messagePattern } from '../core/fingerprint.ts'
import type { DashboardSettings } from './options.ts'
import { isHiddenFilter, redacted, type ShownRecord } from './redaction.ts'

/** What a query asks of `find`: the client checks the values. */
function optionsIn(query: URLSearchParams): FindOptions {
  const limit = query.get('limit')
  return limit ? { limit: Number(limit) } : {}
}

export async function find(settings: DashboardSettings, query: URLSearchParams): Promise<FindResult> {
  const { client, redact } = settings
  const result = await client.find(query.get('text') ?? '', optionsIn(query))
  if (redact === null) return result
  const types = [...client.jobs.keys()]
  const isShown = (hit: FindHit): boolean =>
    hit.kind === 'failure'
      ? isMessageShown(settings, hit, result.near ?? result.text)
      : hit.filter === null || !isHiddenFilter(redact, hit.filter, types)
  const hits = result.hits.filter(isShown)
  // Names of workers and schedules are not hidden.
  if (hits.length > 0 || result.others !== undefined) return { ...result, hits }
  // How far a text that is hidden goes on would be told by what is near to it, and that there is one by its case.
  const { text, searched } = result
  return { text, hits, searched, near: null }
}

/** Is an error shown as it was found? Otherwise to find it would confirm a guess. */
function isMessageShown({ redact }: DashboardSettings, { value, name: type }: FindHit, text: string): boolean {
  const [name = '', ...rest] = value.split(': ')
  const job: ShownRecord = { id: '', type: type ?? '', error: { name, message: rest.join(': ') } }
  const { error } = redacted(redact, job)
  const shown = `${error?.name ?? ''}: ${error?.message ?? ''}`.toLowerCase()
  return (
    shown === value.toLowerCase() &&
    (shown.includes(text.toLowerCase()) || shown.includes(messagePattern(text).toLowerCase()))
  )
}
