/** How long a fresh process takes to import modules. */

export interface ImportParams {
  /** Names or addresses, imported one after the other. */
  readonly modules: readonly string[]
}

/** In ms. */
export async function measure({ modules }: ImportParams): Promise<number> {
  const startedAt = performance.now()
  for (const name of modules) await import(name)
  return performance.now() - startedAt
}
