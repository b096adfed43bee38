import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isSupported } from '../../src/core/node-version.ts'

const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  engines: { node: string }
}

/** The versions at the bounds of a range such as `^22.13.0 || >=26.0.0`, and whether they are in it. */
function* bounds(range: string): Iterable<readonly [version: string, isIn: boolean]> {
  for (const part of range.split(' || ')) {
    const [, sign, major = '', minor = ''] = /^(\^|>=)(\d+)\.(\d+)\.0$/.exec(part) ?? []
    yield [`${major}.${minor}.0`, true]
    yield [`${major}.${Number(minor) + 1}.2`, true]
    yield Number(minor) > 0 ? [`${major}.${Number(minor) - 1}.9`, false] : [`${Number(major) - 1}.99.0`, false]
    yield [`${Number(major) + 1}.0.0`, sign === '>=']
  }
}

test('the versions of Node.js that are refused are those that package.json does not name', () => {
  const versions = [...bounds(engines.node)]
  expect(versions.length).toBeGreaterThan(8)
  expect(versions.map(([version]) => [version, isSupported(version)])).toEqual(versions)
})
