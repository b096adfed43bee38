/** The house rules, each a function from files to complaints: `path:line what is wrong`. */
import { posix } from 'node:path'
import type { TextFile } from './repository.ts'
import type { SourceFile } from './source-file.ts'

export const lineCountMax = 600
export const functionLineCountMax = 80

const isIn = (path: string, places: readonly string[]) =>
  places.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place))

export const longFiles = (files: readonly Pick<SourceFile, 'path' | 'lineCount'>[]): string[] =>
  files
    .filter(({ lineCount }) => lineCount > lineCountMax)
    .map(({ path, lineCount }) => `${path} has ${lineCount} lines, ${lineCountMax} at most`)

export const longFunctions = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, functions }) =>
    functions
      .filter(({ lineCount }) => lineCount > functionLineCountMax)
      .map(
        ({ name, line, lineCount }) =>
          `${path}:${line} ${name} has ${lineCount} lines, ${functionLineCountMax} at most`,
      ),
  )

const commentWidthMax = 120
const comment = /^\s*(\/\*\*|\*|\/\/|--) /
/** Directives of tools are one line; an address is not broken, and a row of a table neither. */
const unbreakable = /oxlint-|@ts-|prettier-|https?:|^\s*\* \|/

/** Comments that are wider than a line; in scripts for servers, too. */
export const wideComments = (files: readonly { readonly path: string; readonly text: string }[]): string[] =>
  files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, i) =>
        line.length > commentWidthMax && comment.test(line) && !unbreakable.test(line)
          ? [`${path}:${i + 1} is a comment of ${line.length} characters, ${commentWidthMax} at most`]
          : [],
      ),
  )

export interface Ban {
  /** Matches a whole name as code uses it, such as `Date.now`. */
  name: RegExp
  /** Where the name is at home. */
  allowedIn: readonly string[]
  instead: string
}

// A page in a browser has no Clock to take.
const time = { allowedIn: ['src/core/clock.ts', 'src/testing/', 'src/dashboard/page/'], instead: 'take the Clock' }

export const bans: readonly Ban[] = [
  { name: /^(Date\.now|new Date\(\)|Date\(\)|performance\.now|process\.hrtime(\.bigint)?)$/, ...time },
  { name: /^(setTimeout|setInterval|setImmediate|AbortSignal\.timeout)$/, ...time },
  { name: /^Math\.random$/, allowedIn: ['src/core/clock.ts', 'src/testing/'], instead: 'take the Random' },
  { name: /^console(\..+)?$/, allowedIn: ['src/core/logger.ts', 'src/cli/'], instead: 'take the Logger' },
  { name: /^process\.exit$/, allowedIn: [], instead: 'throw, and let the caller decide' },
]

export const bannedNames = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, uses, imports }) => [
    ...uses.flatMap(({ name, line }) => {
      const ban = bans.find((row) => row.name.test(name) && !isIn(path, row.allowedIn))
      return ban === undefined ? [] : [`${path}:${line} uses ${name}: ${ban.instead}`]
    }),
    ...imports
      .filter(({ from }) => /^(node:)?timers(\/promises)?$/.test(from) && !isIn(path, time.allowedIn))
      .map(({ from, line }) => `${path}:${line} imports ${from}: ${time.instead}`),
  ])

/** The files that a file imports, types included. */
const importedBy = ({ path, imports }: SourceFile): string[] =>
  imports.filter(({ from }) => from.startsWith('.')).map(({ from }) => posix.join(posix.dirname(path), from))

/** Circles of imports, types included: one for each place where a file leads back to itself. */
export function importCircles(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const circles: string[] = []
  const done = new Set<string>()
  /** From the first file to this one, each imported by the one before it. */
  const trail: string[] = []
  const visit = (path: string): void => {
    const file = byPath.get(path)
    if (file === undefined || done.has(path)) return
    const start = trail.indexOf(path)
    if (start >= 0) {
      circles.push([...trail.slice(start), path].join(' → '))
      return
    }
    trail.push(path)
    importedBy(file).forEach(visit)
    trail.pop()
    done.add(path)
  }
  files.forEach(({ path }) => visit(path))
  return circles
}

/** Exports of the library that no other file imports. An entry, which users import, has its own. */
export function unusedExports(
  library: readonly SourceFile[],
  everything: readonly SourceFile[],
  entries: readonly string[],
): string[] {
  const imported = new Set(
    everything.flatMap(({ path, imports }) =>
      imports.flatMap(({ from, names }) => names.map((name) => `${posix.join(posix.dirname(path), from)} ${name}`)),
    ),
  )
  return library
    .filter(({ path }) => !entries.includes(path) && !imported.has(`${path} *`))
    .flatMap(({ path, exports }) =>
      exports
        .filter(({ name }) => !imported.has(`${path} ${name}`))
        .map(({ name, line }) => `${path}:${line} exports ${name}, which no other file imports`),
    )
}

/** Files that cannot be reached by imports from the roots, and roots that are not there. */
export function orphans(files: readonly SourceFile[], roots: readonly string[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const reached = new Set<string>()
  const visit = (path: string): void => {
    const file = byPath.get(path)
    if (file === undefined || reached.has(path)) return
    reached.add(path)
    importedBy(file).forEach(visit)
  }
  roots.forEach(visit)
  return [
    ...roots.filter((root) => !byPath.has(root)).map((root) => `${root} is exported, but not there`),
    ...files.filter(({ path }) => !reached.has(path)).map(({ path }) => `${path} is imported by nobody`),
  ]
}

export const unfinishedWork = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, comments, uses }) => [
    ...comments
      .map(({ text, line }) => ({ line, found: /\b(TODO|FIXME)\b|@ts-(ignore|nocheck)/.exec(text)?.[0] }))
      .flatMap(({ line, found }) => (found === undefined ? [] : [`${path}:${line} says ${found}`])),
    ...uses
      .filter(({ name }) => name === 'as any' || /^(test|it|describe|suite)\b.*\.(only|skip)$/.test(name))
      .map(({ name, line }) => `${path}:${line} says ${name}`),
  ])

export interface Phrase {
  pattern: RegExp
  allowedIn: readonly string[]
  why: string
}

export const phrases: readonly Phrase[] = [
  { pattern: /(?<![\w.])\/(work|home)\//, allowedIn: [], why: 'a path of one machine' },
  { pattern: /\bses{2}ions?\b/i, allowedIn: [], why: 'how the work was done is not part of it' },
  {
    pattern: /\bissue #\d+/i,
    allowedIn: [],
    why: 'a number that a reader cannot follow: give the reason or an address',
  },
]

export const bannedPhrases = (files: readonly TextFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        phrases
          .filter(({ pattern, allowedIn }) => pattern.test(line) && !isIn(path, allowedIn))
          .map(({ pattern, why }) => `${path}:${index + 1} says ${pattern.exec(line)?.[0]}: ${why}`),
      ),
  )
