/** `node lint.mjs <tarball>`: what publint and arethetypeswrong have against a package, as JSON. */
import { readFile } from 'node:fs/promises'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

const data = await readFile(process.argv[2])
const { messages, pkg } = await publint({
  pack: { tarball: data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) },
  strict: true,
})
const { problems = [], entrypoints = {} } = await checkPackage(createPackageFromTarballData(data))
console.log(
  JSON.stringify({
    entries: Object.keys(entrypoints),
    publint: messages.map((message) => formatMessage(message, pkg)),
    types: problems.map(({ kind, entrypoint, resolutionKind }) => [kind, entrypoint, resolutionKind].join(' ')),
  }),
)
