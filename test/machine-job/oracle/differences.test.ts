/** Users can read where a job differs from a live actor. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { differences } from './differences.ts'

test('the guide lists every difference that a case knows, and no other', () => {
  const guide = readFileSync(new URL('../../../docs/crash.md', import.meta.url), 'utf8')
  const section = guide.split('## Where a job differs from a live actor')[1]?.split('\n## ')[0] ?? ''
  const listed = section
    .split('\n- ')
    .slice(1)
    .map((text) => text.trim())
  expect(listed).toEqual(Object.values(differences))
})
