import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { benchmarksDocument, benchmarksPicture } from '../docs/benchmarks.ts'
import { commandLineDocument } from '../docs/command-line.ts'
import { llmsText } from '../docs/llms.ts'
import { jobPicture, lifecycleDocument, pictures } from '../docs/generate.ts'
import { version } from '../src/core/version.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

test('docs/lifecycle.md is what the charts say (else: npm run docs)', () => {
  expect(read('../docs/lifecycle.md')).toBe(lifecycleDocument())
})

test('docs/errors.md lists every error code', () => {
  const codes = /export type ErrorCode =([^]*?)\n\n/.exec(read('../src/core/errors.ts'))?.[1]?.match(/\w+/g) ?? []
  const listed = Array.from(read('../docs/errors.md').matchAll(/^\| `(\w+)`/gm), ([, code]) => code)
  expect(codes.length).toBeGreaterThan(20)
  expect(listed).toEqual(codes)
})

test('llms.txt names every page and example (else: npm run docs)', () => {
  expect(read('../llms.txt')).toBe(llmsText())
})

test('docs/command-line.md is what the command line says of itself (else: npm run docs)', () => {
  expect(read('../docs/command-line.md')).toBe(commandLineDocument())
})

test('docs/benchmarks.md and its pictures show the figures that were recorded last (else: npm run docs)', () => {
  expect(read('../docs/benchmarks.md')).toBe(benchmarksDocument())
  for (const theme of ['light', 'dark'] as const) {
    expect(read(`../docs/images/benchmarks-${theme}.svg`), theme).toBe(benchmarksPicture(theme))
  }
})

test('the pictures in docs/charts/ are what the charts say (else: npm run docs)', async () => {
  for (const [name, svg] of await pictures()) expect(read(`../docs/charts/${name}`), name).toBe(svg)
})

test('the README shows the life of a job as the chart says', () => {
  expect(read('../README.md')).toContain(jobPicture())
})

const withoutCode = (markdown: string): string => markdown.replaceAll(/^```[^]*?^```$/gm, '')

test('every picture that the README and the docs show is there', () => {
  const pages = ['README.md', ...readdirSync(new URL('../docs', import.meta.url)).map((name) => `docs/${name}`)]
  const shown = pages
    .filter((page) => page.endsWith('.md'))
    .flatMap((page) =>
      Array.from(
        withoutCode(read(`../${page}`)).matchAll(/(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)/g),
        ([, html, markdown]) => join(dirname(page), html ?? markdown ?? ''),
      ),
    )
  expect(shown).toContain('docs/images/main-job-dark.png')
  expect(shown.filter((picture) => !existsSync(new URL(`../${picture}`, import.meta.url)))).toEqual([])
})

test('the version a worker reports is the one of the package', () => {
  expect(version).toBe((JSON.parse(read('../package.json')) as { version: string }).version)
})
