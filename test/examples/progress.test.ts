/** The example of a web process that shows what a worker does. */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { forkProgram, runProgram } from '../harness/processes.ts'
import { canStartBrowser, startBrowser } from '../support/browser.ts'
import { newFile } from '../support/new-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const path = (file: string): string => fileURLToPath(new URL(`../../examples/progress/${file}`, import.meta.url))

test('a stream of server-sent events has each state that another process brings an order to', async () => {
  expect(await runProgram(path('main.ts'))).toEqual({
    stdout: 'ordered → charging → packing → shipped\n',
    stderr: '',
    exitCode: 0,
    signal: null,
  })
})

test.skipIf(!canStartBrowser)('a browser sees an order move while another process runs it', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const file = await newFile(folder.path)
  const start = (name: string) => {
    const child = forkProgram(path(name), [file])
    onTestFinished(async () => {
      const end = once(child, 'exit')
      child.kill('SIGTERM')
      expect(await end).toEqual([0, null])
    })
    return child
  }
  const [port] = (await once(start('web.ts'), 'message')) as [number]
  const browser = await startBrowser()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${port}/`)
  await page.getByRole('button', { name: 'Order' }).click()
  await page.getByText('ordered').waitFor()
  start('worker.ts')
  for (const state of ['charging', 'packing', 'shipped']) await page.getByText(state).first().waitFor()
})
