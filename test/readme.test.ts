/** What the README shows is true: every block of TypeScript is type-checked, and run unless it is marked `ts no-run`. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { fenceCount, tsBlocks, type CodeBlock } from './support/markdown-code.ts'
import { runScript } from './support/run-script.ts'
import { repositoryRoot } from './support/tidy/repository.ts'

// Inside the repository, so that `import 'jobchart'` finds us as a user's import finds the package. Git ignores it.
const folders = join(repositoryRoot, 'test/.readme')
const shownFolder = join(folders, 'shown')
const sampleFolder = join(folders, 'sample')
const readme = join(repositoryRoot, 'README.md')
const markdown = existsSync(readme) ? readFileSync(readme, 'utf8') : ''
const blocks = tsBlocks(markdown)
const [wrong, crash] = tsBlocks('```ts\nexport const a: string = 1\n```\n```ts\nthrow new Error("boom")\n```\n')

const fileOf = ({ line }: CodeBlock) => `line-${line}.ts`

/** Type-checks every file of the folder in one go; answers what the compiler says, nothing when all is well. */
const typeCheck = (folder: string): Promise<string> =>
  new Promise((resolve) => {
    const tsc = join(repositoryRoot, 'node_modules/typescript/bin/tsc')
    execFile(
      process.execPath,
      [tsc, '--project', folder, '--pretty', 'false'],
      { cwd: folder },
      (error, stdout, stderr) => resolve(error === null ? '' : stdout + stderr || error.message),
    )
  })

async function writeBlocks(folder: string, shown: readonly CodeBlock[]): Promise<void> {
  await mkdir(folder, { recursive: true })
  const config = { extends: '../../../tsconfig.json', include: ['.'], exclude: [] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  for (const block of shown) await writeFile(join(folder, fileOf(block)), block.code)
}

beforeAll(async () => {
  await rm(folders, { recursive: true, force: true })
  await writeBlocks(sampleFolder, [wrong!, crash!])
  await writeBlocks(shownFolder, blocks)
})

test('blocks of TypeScript are found wherever they stand, with the line they start on', () => {
  const text = '# a\n\n```ts\nlet a = 1\n```\n\n```js\nlet b\n```\n\n```ts no-run\nserve()\n```\n'
  expect(tsBlocks(text)).toEqual([
    { line: 4, code: 'let a = 1\n', runs: true },
    { line: 12, code: 'serve()\n', runs: false },
  ])
})

test('a block with a type error or a crash is noticed', async () => {
  expect(await typeCheck(sampleFolder)).toContain('line-2.ts(1,14): error TS2322')
  expect((await runScript(join(sampleFolder, fileOf(crash!)))).exitCode).toBe(1)
})

test('the README shows TypeScript, and no block of it escapes this test', () => {
  expect(blocks.length).toBeGreaterThan(0)
  expect(blocks).toHaveLength(fenceCount(markdown))
})

test('every block of the README type-checks', async () => {
  expect(await typeCheck(shownFolder)).toBe('')
})

test.each(blocks.filter(({ runs }) => runs))('the block on line $line of the README runs', async (block) => {
  const { exitCode, stderr } = await runScript(join(shownFolder, fileOf(block)))
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
})
