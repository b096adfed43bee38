import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { commandLineDocument } from '../docs/command-line.ts'
import { jobPicture, lifecycleDocument, pictures } from '../docs/generate.ts'
import { version } from '../src/core/version.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

test('docs/lifecycle.md is what the charts say (else: npm run docs)', () => {
  expect(read('../docs/lifecycle.md')).toBe(lifecycleDocument())
})

test('docs/command-line.md is what the command line says of itself (else: npm run docs)', () => {
  expect(read('../docs/command-line.md')).toBe(commandLineDocument())
})

test('the pictures in docs/charts/ are what the charts say (else: npm run docs)', async () => {
  for (const [name, svg] of await pictures()) expect(read(`../docs/charts/${name}`), name).toBe(svg)
})

test('the README shows the life of a job as the chart says', () => {
  expect(read('../README.md')).toContain(jobPicture())
})

test('the version a worker reports is the one of the package', () => {
  expect(version).toBe((JSON.parse(read('../package.json')) as { version: string }).version)
})
