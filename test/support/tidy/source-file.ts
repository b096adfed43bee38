/** Reads a source file into what the tidy rules ask about: its functions, its imports, and the names it uses. */
import { parseSync } from 'oxc-parser'

export interface SourceFile {
  path: string
  lineCount: number
  functions: readonly { name: string; line: number; lineCount: number }[]
  /** `names` are those that the other module exports; '*' for all of them. */
  imports: readonly { from: string; line: number; typeOnly: boolean; names: readonly string[] }[]
  /** The names that are declared and exported here. */
  exports: readonly { name: string; line: number }[]
  /** Dotted names (`Date.now`), bare names (`setTimeout`), `new Date()`, `Date()` and `as any`, as written in code. */
  uses: readonly { name: string; line: number }[]
  /**
   * Functions that are written among the arguments of a `new`: `Worker.changed` for a member of its options, else
   * `Heap`.
   */
  given: readonly { name: string; to: string }[]
  comments: readonly { text: string; line: number }[]
}

interface Node {
  type: string
  start: number
  end: number
  [field: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

function walk(node: Node, visit: (node: Node, parent: Node | null, field: string) => void): void {
  const step = (current: Node, parent: Node | null, field: string): void => {
    visit(current, parent, field)
    for (const [name, value] of Object.entries(current)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) step(child, current, name)
    }
  }
  step(node, null, '')
}

const nameOf = (node: unknown): string | null =>
  isNode(node) && node.type === 'Identifier' ? String(node['name']) : null
const literalOf = (node: unknown): string | null =>
  isNode(node) && node.type === 'Literal' && typeof node['value'] === 'string' ? node['value'] : null

/** `a.b.c` for a chain of plain members, whether or not they are called on the way, else null. */
function dotted(node: unknown): string | null {
  if (isNode(node) && node.type === 'CallExpression') return dotted(node['callee'])
  if (!isNode(node) || node.type !== 'MemberExpression' || node['computed'] === true) return nameOf(node)
  const object = dotted(node['object'])
  const property = nameOf(node['property'])
  return object === null || property === null ? null : `${object}.${property}`
}

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])
const functionName = (node: Node, parent: Node | null): string =>
  nameOf(node['id']) ?? nameOf(parent?.['id']) ?? nameOf(parent?.['key']) ?? 'a function'

const isType = (part: unknown) => isNode(part) && (part['importKind'] === 'type' || part['exportKind'] === 'type')

/** What a module imports or re-exports at this node, or null. */
function importAt(node: Node): { from: string; typeOnly: boolean; names: readonly string[] } | null {
  if (node.type === 'ImportExpression' || node.type === 'TSImportType') {
    const from = literalOf(node['source'])
    return from === null ? null : { from, typeOnly: node.type === 'TSImportType', names: ['*'] }
  }
  if (!/^(Import|ExportNamed|ExportAll)Declaration$/.test(node.type)) return null
  const from = literalOf(node['source'])
  if (from === null) return null
  const parts: unknown[] = Array.isArray(node['specifiers']) ? node['specifiers'] : []
  const names = node.type === 'ExportAllDeclaration' ? ['*'] : parts.map(importedName)
  return { from, typeOnly: isType(node) || (parts.length > 0 && parts.every(isType)), names }
}

/** The name in the other module of one part of an import or re-export. */
function importedName(part: unknown): string {
  if (!isNode(part) || part.type === 'ImportNamespaceSpecifier') return '*'
  return nameOf(part.type === 'ExportSpecifier' ? part['local'] : part['imported']) ?? 'default'
}

/** The names that are declared and exported at this node. */
function exportsAt(node: Node): readonly string[] {
  const declaration = node['declaration']
  if (node.type !== 'ExportNamedDeclaration' || !isNode(declaration)) return []
  const declared = declaration['declarations']
  const names = Array.isArray(declared) ? declared.map((each: Node) => nameOf(each['id'])) : [nameOf(declaration['id'])]
  return names.filter((name) => name !== null)
}

/** Is this identifier the name of a member, a key or a type, and not a value that is read? */
function isOnlyAName(parent: Node | null, field: string): boolean {
  if (parent === null) return false
  if (parent.type === 'TSTypeQuery' || parent.type.endsWith('Specifier')) return true
  return (field === 'property' || field === 'key') && parent['computed'] !== true
}

function useAt(node: Node, parent: Node | null, field: string): string | null {
  if (node.type === 'TSAsExpression' || node.type === 'TSTypeAssertion') {
    return isNode(node['typeAnnotation']) && node['typeAnnotation'].type === 'TSAnyKeyword' ? 'as any' : null
  }
  const isDate = nameOf(node['callee']) === 'Date'
  if (node.type === 'CallExpression' && isDate) return 'Date()'
  if (node.type === 'NewExpression' && isDate)
    return (node['arguments'] as unknown[]).length === 0 ? 'new Date()' : null
  if (node.type === 'MemberExpression') return dotted(node)?.replace(/^globalThis\./, '') ?? null
  if (node.type === 'Identifier' && !isOnlyAName(parent, field)) return nameOf(node)
  return null
}

/** The names of the functions in an argument: members of an object literal, or the argument itself. */
function functionsIn(argument: unknown, name: string): readonly string[] {
  if (!isNode(argument)) return []
  if (functionTypes.has(argument.type)) return [name]
  const members = argument.type === 'ObjectExpression' ? (argument['properties'] as Node[]) : []
  return members.flatMap((member) => functionsIn(member['value'], `${name}.${nameOf(member['key']) ?? '?'}`))
}

export function readSource(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message ?? 'cannot be parsed'}`)
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
  const lineAt = (offset: number) => {
    const next = lineStarts.findIndex((start) => start > offset)
    return next === -1 ? lineStarts.length : next
  }
  const functions: SourceFile['functions'][number][] = []
  const imports: SourceFile['imports'][number][] = []
  const exports: SourceFile['exports'][number][] = []
  const uses: SourceFile['uses'][number][] = []
  const given: SourceFile['given'][number][] = []
  walk(program as unknown as Node, (node, parent, field) => {
    const line = lineAt(node.start)
    if (functionTypes.has(node.type)) {
      functions.push({ name: functionName(node, parent), line, lineCount: lineAt(node.end) - line + 1 })
    }
    const imported = importAt(node)
    if (imported !== null) imports.push({ ...imported, line })
    for (const name of exportsAt(node)) exports.push({ name, line })
    const made = node.type === 'NewExpression' ? nameOf(node['callee']) : null
    if (made !== null) {
      for (const argument of node['arguments'] as unknown[]) {
        for (const each of functionsIn(argument, made)) given.push({ name: each, to: made })
      }
    }
    const name = useAt(node, parent, field)
    if (name !== null) uses.push({ name, line })
  })
  return {
    path,
    lineCount: text.endsWith('\n') ? lineStarts.length - 1 : lineStarts.length,
    functions,
    imports,
    exports,
    uses,
    given,
    comments: comments.map(({ value, start }) => ({ text: value, line: lineAt(start) })),
  }
}
