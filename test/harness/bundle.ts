/** Before the tests: in their short form, the programs that they start are bundled. */
import { isLong } from './long-form.ts'
import { bundlePrograms } from './programs.ts'

export default async function bundle(): Promise<(() => void) | undefined> {
  return isLong ? undefined : bundlePrograms()
}
