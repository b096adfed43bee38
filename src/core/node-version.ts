/**
 * Refuses a Node.js that jobchart does not run on. Each entry imports this module first, and it imports nothing:
 * otherwise something else fails first, with a message that does not name the reason.
 */
const { process: host } = globalThis as { readonly process?: Partial<NodeJS.Process> }
const { node, bun, deno }: Partial<NodeJS.ProcessVersions> = host?.versions ?? {}

/** Is a version of Node.js one that `engines` of package.json names? A test compares them. */
export function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return (major === 22 && minor >= 13) || major === 24 || major >= 26
}

// Others that run programs for Node.js tell a version of it that says nothing about what they have; browsers tell none.
if (node !== undefined && !isSupported(node) && bun === undefined && deno === undefined) {
  throw new Error(`jobchart needs Node.js 22.13 or later, not 23 or 25; this is v${node}`)
}
