/**
 * Every block of TypeScript in the README runs, unless it is marked `ts no-run`. (`examples/docs-code.test.ts` checks
 * its types.)
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tsBlocks, type CodeBlock } from './support/markdown-code.ts'
import { runProgram } from './harness/processes.ts'
import { repositoryRoot } from './support/tidy/repository.ts'

// Inside the repository, so that `import 'jobchart'` finds us as a user's import finds the package. Git ignores it.
const folder = join(repositoryRoot, 'test/.readme')
const readme = join(repositoryRoot, 'README.md')
const markdown = existsSync(readme) ? readFileSync(readme, 'utf8') : ''
const blocks = tsBlocks(markdown)
const [crash] = tsBlocks('```ts\nthrow new Error("boom")\n```\n')

const fileOf = ({ line }: CodeBlock) => `line-${line}.ts`

async function writeBlocks(shown: readonly CodeBlock[]): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const block of shown) await writeFile(join(folder, fileOf(block)), block.code)
}

beforeAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await writeBlocks(blocks)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('blocks of TypeScript are found wherever they stand, with the line they start on', () => {
  const text = '# a\n\n```ts\nlet a = 1\n```\n\n```js\nlet b\n```\n\n```ts no-run\nserve()\n```\n'
  expect(tsBlocks(text)).toEqual([
    { line: 4, code: 'let a = 1\n', runs: true },
    { line: 12, code: 'serve()\n', runs: false },
  ])
})

test('a block that crashes is noticed', async () => {
  await writeBlocks([crash!])
  expect((await runProgram(join(folder, fileOf(crash!)))).exitCode).toBe(1)
})

test('the README has blocks that run', () => {
  expect(blocks.filter(({ runs }) => runs)).not.toEqual([])
})

test.each(blocks.filter(({ runs }) => runs))('the block on line $line of the README runs', async (block) => {
  const { exitCode, stderr } = await runProgram(join(folder, fileOf(block)))
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
})
