/**
 * The fields of a form for an event, read from the JSON Schema of the event; and the event that a filled form makes.
 */
import { ownValue } from '../../core/own-value.ts'
import type { Json } from '../../index.ts'

interface FieldBase {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly required: boolean
  /** What it shows at first, as `FormValues` has it. */
  readonly initial: string | boolean
}

/** The keyboard that a phone shows. */
type InputKind = 'text' | 'email' | 'url'

export type Field = FieldBase &
  (
    | {
        readonly kind: 'text'
        readonly input: InputKind
        readonly pattern?: string
        readonly min: number
        readonly max: number
      }
    | { readonly kind: 'number'; readonly step: string; readonly min?: number; readonly max?: number }
    | { readonly kind: 'choice'; readonly choices: readonly Json[] }
    | { readonly kind: 'flag' }
    | { readonly kind: 'json' }
  )

/** What stands in each field: text, or whether a flag is set. */
export type FormValues = Readonly<Record<string, string | boolean>>

type Schema = Readonly<Record<string, Json | undefined>>

const inputs: Readonly<Record<string, InputKind>> = { email: 'email', uri: 'url' }
const textMax = 10_000

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @returns null if the schema is not of an object whose fields are named: the event is written as JSON then */
export function fieldsOf(schema: Json): readonly Field[] | null {
  if (!isSchema(schema) || schema['type'] !== 'object' || !isSchema(schema['properties'])) return null
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(schema['properties']).map(([name, field]) =>
    fieldOf(name, isSchema(field) ? field : {}, required.includes(name)),
  )
}

function fieldOf(name: string, schema: Schema, required: boolean): Field {
  const { title, description, default: initial, type } = schema
  const choices = Array.isArray(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const'] ?? null] : null
  const isFlag = choices === null && type === 'boolean'
  const isText = choices === null && type === 'string'
  const base = {
    name,
    title: typeof title === 'string' ? title : name,
    description: typeof description === 'string' ? description : '',
    required,
    initial: isFlag ? initial === true : firstText(schema, required && choices?.length === 1 ? choices[0] : undefined),
  }
  if (choices !== null) return { ...base, kind: 'choice', choices }
  if (isFlag) return { ...base, kind: 'flag' }
  if (type === 'number' || type === 'integer') {
    const [min, max] = [numberIn(schema['minimum']), numberIn(schema['maximum'])]
    return {
      ...base,
      kind: 'number',
      step: type === 'integer' ? '1' : 'any',
      ...(min !== null && { min }),
      ...(max !== null && { max }),
    }
  }
  if (!isText) return { ...base, kind: 'json' }
  const { format, pattern } = schema
  const input = (typeof format === 'string' ? inputs[format] : undefined) ?? 'text'
  return {
    ...base,
    kind: 'text',
    input,
    // The pattern of a known format is long, and the server checks it.
    ...(typeof pattern === 'string' && format === undefined && { pattern }),
    min: numberIn(schema['minLength']) ?? 0,
    max: numberIn(schema['maxLength']) ?? textMax,
  }
}

/** The text that a field shows at first: its default, or the one value that it may have. */
function firstText({ type, default: given, enum: choices }: Schema, only: Json | undefined): string {
  const value = given ?? only
  if (value === undefined) return ''
  return typeof value === 'string' && type === 'string' && choices === undefined && only === undefined
    ? value
    : JSON.stringify(value)
}

/** Zod writes the bounds of safe integers out; they help nobody. */
const numberIn = (value: Json | undefined): number | null =>
  typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : null

/**
 * The fields of the event. Fields that are not required and empty are left out.
 * @throws Error naming the field whose JSON cannot be read
 */
export function eventFields(fields: readonly Field[], values: FormValues): Record<string, Json> {
  const entries = fields.flatMap((field): [string, Json][] => {
    const value = ownValue(values, field.name) ?? field.initial
    if (typeof value === 'boolean') return [[field.name, value]]
    if (value === '' && (!field.required || field.kind !== 'text')) return []
    return [[field.name, field.kind === 'text' ? value : jsonIn(field.title, value)]]
  })
  return Object.fromEntries(entries)
}

/** @throws Error naming what is no JSON */
export function jsonIn(what: string, text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw new Error(`${what} is not JSON, for example {"by": "ada"} or "ada".`)
  }
}
