export const dashboard: Record<string, (main: HTMLElement, name: string) => Promise<void> | void> = {};
