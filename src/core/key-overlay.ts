/** What a unit has changed of a relation by type and key: it has precedence over what the store answers. */
export class KeyOverlay<T> {
  private readonly types = new Map<string, Map<string, T>>()

  get(type: string, key: string): T | undefined {
    return this.types.size === 0 ? undefined : this.types.get(type)?.get(key)
  }

  set(type: string, key: string, value: T): void {
    const keys = this.types.get(type)
    if (keys === undefined) this.types.set(type, new Map([[key, value]]))
    else keys.set(key, value)
  }

  clear(): void {
    if (this.types.size > 0) this.types.clear()
  }
}
