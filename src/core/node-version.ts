/**
 * Refuses a Node.js that is too old. Each entry imports this module first, and it imports nothing: otherwise something else fails first,
 * with a message that does not name the reason.
 */
const { node, bun, deno } = process.versions
const [major = 0, minor = 0] = node.split('.').map(Number)

// Others that run programs for Node.js tell a version of it that says nothing about what they have.
if ((major < 22 || (major === 22 && minor < 13)) && bun === undefined && deno === undefined) {
  throw new Error(`jobchart needs Node.js 22.13 or later; this is v${node}`)
}
