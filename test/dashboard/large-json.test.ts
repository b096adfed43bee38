/** JSON in pieces is the JSON that JSON.stringify makes. */
import { expect, test } from 'vitest'
import { largeJson } from '../../src/dashboard/json-pieces.ts'

test('a large answer has the value it was made of, half characters at the ends of pieces included', async () => {
  const emoji = '🚀'.repeat(70_000)
  const value = {
    none: undefined,
    empty: {},
    list: [1, null, [], 'a"b\\', { x: true }],
    long: `x${emoji}`,
    ['__proto__']: 1,
    'key "quoted"': 'line\n',
  }
  const text = await largeJson(value).text()
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
  expect(text.length).toBeLessThan(JSON.stringify(value).length + 100)
})
