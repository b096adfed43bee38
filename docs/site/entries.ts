/** The entries of the package, as its package.json has them. */
import { readFileSync } from 'node:fs'

export interface Entry {
  /** What is imported. */
  readonly name: string
  /** Its source, from the root of the repository. */
  readonly source: string
  /** Its page among those of the API. */
  readonly page: string
}

const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly '@jobchart/source': string }>>
}

export const entries: readonly Entry[] = Object.entries(exports).flatMap(([key, found]) => {
  if (typeof found === 'string') return []
  const source = found['@jobchart/source'].replace(/^\.\//, '')
  // As TypeDoc names the page of a module.
  const page = source.replace(/^src\//, '').replace(/(?:\/index)?\.ts$/, '')
  return [{ name: key.replace(/^\./, 'jobchart'), source, page }]
})
